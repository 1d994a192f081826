// One of the workers that train a model together, or the only one.
//
// The trainer calls the same functions in the same order on every worker;
// those marked collective wait for all.
//
// Threads: caller synchronises.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/stopwatch.h"
#include "weft/data/batch_source.h"
#include "weft/graph/function.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/step/metrics.h"
#include "weft/train/step/traffic.h"

namespace weft {

// Which step, and what goes into it.
struct WorkerStep {
  std::int64_t number = 0;  // from 0
  std::int64_t epoch = 0;   // from 0
  double lr = 0;
  bool wants_stop = false;  // this worker was asked to end
  // Workers are to be at one afterwards: something is measured or saved.
  bool must_meet = true;
};

// What all workers count together.
struct WorkerTotals {
  // Whether they have met in this step. If not, nothing else is known yet.
  bool have_met = true;
  // Over the predictions of all batches since they last met, this one included.
  MeasureSums sums;
  bool is_stopping = false;  // some worker was asked to end
  std::string note = {};     // what there is to say of it; mostly nothing
};

class Worker {
 public:
  virtual ~Worker() = default;

  virtual int rank() const { return 0; }
  virtual int ranks() const { return 1; }
  bool is_first() const { return rank() == 0; }

  // Trains on this worker's part of a batch. Collective.
  virtual WorkerTotals run(const Batch& batch, const WorkerStep& step) = 0;
  // Sets what is carried from batch to batch to zero, as an epoch begins.
  virtual void reset_carried() = 0;

  // Sums over all workers. Collective.
  virtual MeasureSums total(const MeasureSums& own) { return own; }
  // Gives all workers the first one's running statistics, which are those
  // that are kept. Collective.
  virtual void share_statistics() {}

  // Parameters and whatever else this worker changes, as memory to look at.
  virtual const std::vector<NamedTensor>& state() const = 0;
  // All that a checkpoint needs; complete on the first worker. Collective.
  virtual std::vector<NamedTensor> checkpoint() = 0;
  // The checkpoint to continue from, that of the first worker: `own` is this
  // one's newest. `note` says what there is to say. Collective.
  virtual std::optional<CheckpointFile> newest(
      const std::optional<std::filesystem::path>& own, std::string& /*note*/) {
    return own ? std::optional<CheckpointFile>(*own) : std::nullopt;
  }
  // Restores what checkpoint() gave, also that of another number of workers.
  // Throws Error(kDataLoss) for what is missing, kUnsupported for what cannot
  // be dealt out anew. Returns what there is to say; empty if nothing.
  virtual std::string restore(const CheckpointFile& file) = 0;

  // Seconds on the clock that its steps go by: this machine's, or a simulated
  // network's.
  virtual double now() const { return watch_.seconds(); }

  // What the last step sent and waited for; nothing for a single worker.
  virtual std::optional<StepTraffic> traffic() const { return std::nullopt; }
  // The gradients of a step on that batch, by the names of their parameters, as
  // they are before they are clipped; computed beside the step, which finds
  // everything as it was. They hold until the next call. Of several workers the
  // first has those of the whole batch, and the others none. None where workers
  // must not show them. Collective.
  virtual std::vector<NamedTensor> gradients(const Batch& /*batch*/,
                                             const WorkerStep& /*step*/) {
    return {};
  }
  // What a step of it computes, where that is one function; else null.
  virtual const Function* function() const { return nullptr; }
  // Bytes that a step takes beside what is held already, where they are known
  // before it runs.
  virtual std::size_t step_bytes() { return 0; }
  // "allreduce: ring of f32, 4 workers, …"; empty for a single worker.
  virtual std::string text() const { return {}; }
  // Tells the others that this worker ends, and why.
  virtual void fail(const Error&) {}

 private:
  Stopwatch watch_;
};

}  // namespace weft
