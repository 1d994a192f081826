#include "weft/train/hooks/measure.h"

#include <cmath>

#include "weft/train/train_loop.h"

namespace weft {
namespace {

constexpr std::string_view kBest = "best_";

// Equal ones are decided by the loss.
bool is_better(const MetricDef& deciding, const Scores& a, const Scores& b) {
  // `b` is the best so far, which is no number before the first measurement.
  if (!b.is_measured()) return a.is_measured();
  const double x = a.get(deciding.name);
  const double y = b.get(deciding.name);
  if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
  if (x != y && !std::isnan(x))
    return deciding.is_higher_better ? x > y : x < y;
  return a.loss() < b.loss();
}

// With the metrics that a checkpoint lacks, as a task did not have them then,
// and that follow from those that it has: a perplexity is one of a loss.
Scores completed(const TrainingTask& task, Scores known) {
  const std::vector<MeasureDef> measures = task.measures();
  MeasureSums sums;
  for (const MeasureDef& measure : measures) {
    // The bins of a histogram were never told.
    if (measure.size != 1) return known;
    sums.ratios().push_back({known.get(measure.name), 1});
  }
  const Scores all(task.metrics(), sums);
  for (const auto& [name, value] : all.all()) {
    if (std::isnan(known.get(name))) known.set(name, value);
  }
  return known;
}

}  // namespace

void MeasureHook::on_measure(TrainLoop& loop) {
  EpochMetrics& epoch = loop.epoch();
  // The last step is always measured, whatever eval_every says: a run must end
  // with a score.
  const bool is_last = loop.steps_done() >= loop.steps_in_all();
  if (!is_last && epoch.epoch % loop.recipe().train.eval_every != 0) return;
  // All measure with the same statistics, those of the first worker.
  loop.worker().share_statistics();
  // Each worker measured its part; the sums of all make the same score, and so
  // the same decisions, on each.
  epoch.held_out = Scores(loop.metrics(), loop.worker().total(held_out_.run()));
  epoch.is_best = is_better(loop.deciding_metric(), epoch.held_out, best_);
  if (!epoch.is_best) return;
  best_ = epoch.held_out;
  best_epoch_ = epoch.epoch;
}

void MeasureHook::remember(TrainNumbers& numbers) const {
  for (const auto& [name, value] : best_.all()) {
    numbers[std::string(kBest) + name] = value;
  }
  numbers["best_epoch"] = static_cast<double>(best_epoch_);
}

void MeasureHook::recall(const TrainNumbers& numbers) {
  best_ = {};
  for (const auto& [name, value] : numbers) {
    if (name == "best_epoch" || !name.starts_with(kBest)) continue;
    best_.set(name.substr(kBest.size()), value);
  }
  if (best_.is_measured()) best_ = completed(task_, std::move(best_));
  best_epoch_ = static_cast<std::int64_t>(number_of(numbers, "best_epoch"));
}

}  // namespace weft
