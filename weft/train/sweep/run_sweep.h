// Trains the runs of a sweep side by side.
//
// Threads: run_sweep() starts one for each run at a time; it calls the observer
//          from them, one call at a time.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "weft/train/progress.h"
#include "weft/train/run_record.h"
#include "weft/train/sweep/sweep.h"

namespace weft {

// How many runs compute at once, and with how many threads each.
struct CoreShares {
  int at_once = 1;
  int threads = 1;
};

// Shares `cores` among `runs`: each run gets `threads`, or, for 0, what is left
// to it when as many as possible compute at once. A run needs `least` threads,
// one for each of its workers. Throws Error(kInvalidArgument) for a run that
// needs more than all cores.
CoreShares share_cores(std::size_t runs, int cores, int threads, int least);

// Is told how the runs go, by their indices. What it throws ends that run;
// on_end() must not throw.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void on_start(std::size_t /*run*/, const TrainSummary&) {}
  virtual void on_note(std::size_t /*run*/, const std::string&) {}
  virtual void on_step(std::size_t /*run*/, const TrainProgress&) {}
  virtual void on_epoch(std::size_t /*run*/, const TrainProgress&,
                        const EpochMetrics&) {}
  virtual void on_end(std::size_t /*run*/, const RunOutcome&) {}
};

struct SweepOptions {
  CoreShares cores = {};
  // Runs that are done, by the same recipe, are not trained again.
  bool is_resumed = false;
  // Begins no further run once true; who trains one must look at it too.
  const std::atomic<bool>* stop = nullptr;
  int workers = 1;  // of each run that does not simulate its own
};

// Trains one run, by a recipe whose log.folder is its own.
using TrainRun =
    std::function<TrainResult(const Recipe& recipe, TrainObserver& observer)>;

// How each run ended; one that fails leaves the others alone. All runs are
// assembled before the first one trains: throws what assemble() throws for any
// of them, with its name, and what starting a thread throws.
std::vector<RunOutcome> run_sweep(std::span<const SweepRun> runs,
                                  const SweepOptions& options,
                                  const TrainRun& train,
                                  SweepObserver& observer);

// Indices of outcomes, best first: those that are done, by the metric that
// decides, then the others as they stand. Outcomes of different metrics stay
// together by metric.
std::vector<std::size_t> best_first(std::span<const RunOutcome> outcomes);

}  // namespace weft
