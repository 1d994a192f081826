#include "weft/train/sweep/run_sweep.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "weft/base/parallel.h"
#include "weft/train/assembly.h"
#include "weft/train/simulated_run.h"

namespace weft {
namespace {

// What a run tells, under the number that it has among all.
class ToldAs : public TrainObserver {
 public:
  ToldAs(std::size_t run, SweepObserver& observer, std::mutex& mutex)
      : run_(run), observer_(observer), mutex_(mutex) {}

  void on_start(const TrainSummary& summary) override {
    // Runs train on several threads. Their observer is called by one at a time,
    // and need not know that.
    const std::lock_guard lock(mutex_);
    observer_.on_start(run_, summary);
  }
  void on_note(const std::string& note) override {
    const std::lock_guard lock(mutex_);
    observer_.on_note(run_, note);
  }
  void on_step(const TrainProgress& progress) override {
    const std::lock_guard lock(mutex_);
    observer_.on_step(run_, progress);
  }
  void on_epoch(const TrainProgress& progress,
                const EpochMetrics& metrics) override {
    const std::lock_guard lock(mutex_);
    observer_.on_epoch(run_, progress, metrics);
  }
  void on_end(const RunOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    observer_.on_end(run_, outcome);
  }

 private:
  std::size_t run_;
  SweepObserver& observer_;
  std::mutex& mutex_;
};

// What an earlier sweep made of this run, if it is done and by this recipe.
std::optional<RunOutcome> known_outcome(const Recipe& recipe, ToldAs& told) {
  const std::filesystem::path folder = recipe.log.folder;
  if (!std::filesystem::exists(record_path(folder))) return std::nullopt;
  try {
    RunRecord record = read_record(folder);
    if (record.outcome.state != RunState::kDone) return std::nullopt;
    Recipe then = load_recipe(folder / "recipe.toml");
    // Looking for NaN changes no number.
    then.train.check_numerics = recipe.train.check_numerics;
    if (then == recipe) return std::move(record.outcome);
  } catch (const Error& error) {
    // What cannot be read costs one run, and not the sweep.
    told.on_note(fmt::format("is trained again, since {}", error.what()));
  }
  return std::nullopt;
}

// Data that runs in a row have in common are opened once.
void check_runs(std::span<const SweepRun> runs, int threads) {
  std::shared_ptr<const TrainingData> data;
  const Recipe* opened = nullptr;
  for (const SweepRun& run : runs) {
    const int simulated = simulated_workers(run.recipe);
    const int workers = simulated > 0 ? simulated : threads;
    try {
      if (opened == nullptr || !have_same_data(run.recipe, *opened)) {
        data = nullptr;  // so that one set is in memory at a time
        data = open_data(run.recipe, workers);
        opened = &run.recipe;
      }
      assemble(run.recipe, workers, {.data = data});
    } catch (Error& error) {
      error.detail("run: " + run.name);
      throw;
    }
  }
}

RunOutcome outcome_of(const TrainResult& result) {
  return {.state = RunState::kDone,
          .deciding = result.deciding,
          .test = result.test,
          .epochs = result.epochs,
          .best_epoch = result.best_epoch,
          .seconds = result.seconds};
}

RunOutcome train_one(const Recipe& recipe, const SweepOptions& options,
                     const TrainRun& train, ToldAs& told) {
  try {
    if (options.stop != nullptr && *options.stop) {
      return {.state = RunState::kInterrupted, .reason = "not begun"};
    }
    if (options.is_resumed) {
      if (auto known = known_outcome(recipe, told)) return *std::move(known);
    }
    return outcome_of(train(recipe, told));
  } catch (const Error& error) {
    // A run that fails does not end the others: its outcome says why.
    const bool is_stopped = error.code() == ErrorCode::kCancelled;
    return {.state = is_stopped ? RunState::kInterrupted : RunState::kFailed,
            .reason = error.what()};
  } catch (const std::exception& error) {
    return {.state = RunState::kFailed, .reason = error.what()};
  }
}

// Those that are no number come last.
bool is_better(const RunOutcome& a, const RunOutcome& b) {
  if ((a.state == RunState::kDone) != (b.state == RunState::kDone)) {
    return a.state == RunState::kDone;
  }
  // Runs that are judged by other metrics cannot be compared; they stand
  // together by name.
  if (a.deciding.name != b.deciding.name) {
    return a.deciding.name < b.deciding.name;
  }
  const double x = a.test.get(a.deciding.name);
  const double y = b.test.get(b.deciding.name);
  if (std::isfinite(x) != std::isfinite(y)) return std::isfinite(x);
  if (!std::isfinite(x)) return false;
  return a.deciding.is_higher_better ? x > y : x < y;
}

}  // namespace

CoreShares share_cores(std::size_t runs, int cores, int threads, int least) {
  const int needed = std::max(threads, least);
  if (needed > cores) {
    throw Error(ErrorCode::kInvalidArgument, "--cores",
                "a run needs {} threads, more than the {} of all runs", needed,
                cores)
        .hint("raise --cores, or lower --threads or --workers");
  }
  const int most = static_cast<int>(
      std::min<std::size_t>(runs, static_cast<std::size_t>(cores)));
  CoreShares shares;
  // Without runs, too, the bounds of clamp() must be in order.
  shares.at_once =
      std::clamp(cores / std::max(needed, 1), 1, std::max(most, 1));
  // The number depends on all runs, also when a sweep goes on with fewer: sums
  // of another number of threads may round otherwise.
  shares.threads = threads > 0 ? threads : cores / shares.at_once;
  return shares;
}

std::vector<RunOutcome> run_sweep(std::span<const SweepRun> runs,
                                  const SweepOptions& options,
                                  const TrainRun& train,
                                  SweepObserver& observer) {
  check_runs(runs, options.workers);
  std::vector<RunOutcome> outcomes(runs.size());
  // Each thread takes the next run when it is free, as some last longer than
  // others.
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  const auto work = [&] {
    // The number is each thread's own (base/parallel.h).
    set_thread_count(options.cores.threads);
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      Recipe recipe = runs[i].recipe;
      recipe.log.folder = runs[i].folder().string();
      ToldAs told(i, observer, mutex);
      outcomes[i] = train_one(recipe, options, train, told);
      told.on_end(outcomes[i]);
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < options.cores.at_once; ++i) threads.emplace_back(work);
  threads.clear();  // joins them
  return outcomes;
}

std::vector<std::size_t> best_first(std::span<const RunOutcome> outcomes) {
  std::vector<std::size_t> order(outcomes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return is_better(outcomes[a], outcomes[b]);
  });
  return order;
}

}  // namespace weft
