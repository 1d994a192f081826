#include "weft/train/run_list.h"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

// Colours that people with any colour vision tell apart (Okabe and Ito, "Color
// universal design", 2008), without the yellow, which is lost on white.
constexpr std::array<Colour, 7> kColours{{{0x00, 0x72, 0xB2},
                                          {0xD5, 0x5E, 0x00},
                                          {0x00, 0x9E, 0x73},
                                          {0xCC, 0x79, 0xA7},
                                          {0xE6, 0x9F, 0x00},
                                          {0x56, 0xB4, 0xE9},
                                          {0x00, 0x00, 0x00}}};
// Dashes tell more curves apart than there are colours.
const std::array<std::vector<double>, 3> kDashes{{{}, {7, 4}, {2, 4}}};
constexpr std::size_t kMostCurves = kColours.size() * kDashes.size();

const Stroke kTrainingStroke{{0x8a, 0x8f, 0x98}, 1.4};

Stroke stroke_of(std::size_t run) {
  return {kColours[run % kColours.size()], 1.8, kDashes[run / kColours.size()]};
}

bool has_metric(const TrainedRun& run, const std::string& name) {
  return std::ranges::any_of(run.epochs, [&](const EpochMetrics& epoch) {
    // What was not measured is NaN.
    return std::isfinite(epoch.held_out.get(name));
  });
}

// "runs/a: loss, accuracy".
std::string metrics_text(const TrainedRun& run) {
  std::vector<std::string> names;
  for (const EpochMetrics& epoch : run.epochs) {
    for (const auto& [name, value] : epoch.held_out.all()) {
      if (!std::isfinite(value) || std::ranges::count(names, name) > 0)
        continue;
      names.push_back(name);
    }
  }
  return fmt::format("{}: {}", run.folder.string(),
                     names.empty() ? "nothing was measured yet"
                                   : fmt::format("{}", fmt::join(names, ", ")));
}

const char* axis_label(CurveAxis over) {
  return over == CurveAxis::kEpoch  ? "epoch"
         : over == CurveAxis::kStep ? "step"
                                    : "training time, s";
}

}  // namespace

const EpochMetrics* TrainedRun::best() const {
  // An epoch is marked if it was the best so far, so that the last mark counts.
  const auto found = std::find_if(epochs.rbegin(), epochs.rend(),
                                  [](const auto& e) { return e.is_best; });
  return found == epochs.rend() ? nullptr : &*found;
}

TrainedRun read_run(const fs::path& folder) {
  if (fs::exists(record_path(folder))) {
    return {folder, read_record(folder), read_metrics(folder)};
  }
  Error error(ErrorCode::kInvalidArgument, folder.string(),
              "there is no run in this folder");
  if (!fs::is_directory(folder)) {
    error = Error(ErrorCode::kInvalidArgument, folder.string(),
                  "there is no such folder");
  } else if (const auto inside = find_runs(folder); !inside.empty()) {
    error.hint(fmt::format("{} is one, below it", inside[0].string()));
  } else if (fs::exists(folder / "last.safetensors")) {
    error.hint(
        "its checkpoint is older than run.json; weft train … --resume writes "
        "that");
  }
  throw error;
}

std::vector<fs::path> find_runs(const fs::path& root) {
  std::error_code reason;
  fs::recursive_directory_iterator entries(
      // A folder that may not be read must not hide the runs beside it.
      root, fs::directory_options::skip_permission_denied, reason);
  if (reason) {
    throw Error(ErrorCode::kUnavailable, root.string(), "cannot be listed: {}",
                reason.message());
  }
  std::vector<fs::path> folders;
  // The iterator lists what is below the root, and not the root.
  if (fs::exists(record_path(root))) folders.push_back(root);
  for (const auto& entry : entries) {
    if (entry.is_directory() && fs::exists(record_path(entry.path()))) {
      folders.push_back(entry.path());
    }
  }
  // A folder lists its entries in any order.
  std::ranges::sort(folders);
  return folders;
}

MetricDef common_metric(std::span<const TrainedRun> runs,
                        const std::optional<std::string>& name) {
  WEFT_CHECK(!runs.empty(), "there are no runs");
  MetricDef metric = runs[0].record.outcome.deciding;
  if (name) {
    // What a run says of a metric that does not decide is not in its record.
    const auto known = std::ranges::find(
        runs, *name,
        [](const TrainedRun& run) { return run.record.outcome.deciding.name; });
    metric = known != runs.end() ? known->record.outcome.deciding
                                 : MetricDef{.name = *name};
  }
  // Without a name, the runs must agree on what judges them; with one, all must
  // have measured it.
  const bool is_common = std::ranges::all_of(runs, [&](const TrainedRun& run) {
    return has_metric(run, metric.name) &&
           (name || run.record.outcome.deciding.name == metric.name);
  });
  if (is_common) return metric;
  Error error(ErrorCode::kInvalidArgument, "runs", "not all of them {} '{}'",
              name ? "have measured" : "are judged by", metric.name);
  for (const TrainedRun& run : runs) error.detail(metrics_text(run));
  throw error.hint(name ? "leave out the runs that have not"
                        : "--metric loss compares by what all have measured");
}

Chart chart_of(std::span<const TrainedRun> runs,
               std::span<const std::string> labels, const MetricDef& metric,
               CurveAxis over) {
  if (runs.size() > kMostCurves) {
    throw Error(ErrorCode::kInvalidArgument, "runs",
                "{} curves are more than can be told apart, which is {}",
                runs.size(), kMostCurves);
  }
  Chart chart{.title = "",
              .x_label = axis_label(over),
              .has_whole_x = over != CurveAxis::kTime,
              .panels = {},
              .legend = {}};
  const bool is_single = runs.size() == 1;
  // Every task has a loss.
  std::vector<std::string> metrics{"loss"};
  if (metric.name != "loss") metrics.push_back(metric.name);
  for (const std::string& name : metrics) {
    Panel panel{name + ", held out", range_of(name), {}};
    // With several runs, a second curve for each would be a tangle.
    if (is_single) {
      panel.title = name;
      panel.curves.push_back(
          {points_of(runs[0].epochs, &EpochMetrics::train, name, over),
           kTrainingStroke});
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      panel.curves.push_back(
          {points_of(runs[i].epochs, &EpochMetrics::held_out, name, over),
           stroke_of(i)});
    }
    chart.panels.push_back(std::move(panel));
  }
  if (is_single) {
    chart.title = labels[0];
    chart.legend = {{"training", kTrainingStroke}, {"held out", stroke_of(0)}};
    return chart;
  }
  chart.title = fmt::format("{} runs", runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    chart.legend.push_back({labels[i], stroke_of(i)});
  }
  return chart;
}

}  // namespace weft
