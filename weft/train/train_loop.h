// The loop of a training: epochs of steps. It counts and keeps time; all else
// is done by hooks (train_hook.h).
//
// Threads: caller synchronises; `stop` may be set from anywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/train/progress.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/train_hook.h"
#include "weft/train/step/training_task.h"
#include "weft/train/step/worker.h"

namespace weft {

// What a step took: for its batch to come, and from then on.
struct StepSeconds {
  double waiting = 0;
  double computing = 0;
};

class TrainLoop {
 public:
  // All of these outlive the loop; `stop` may be null.
  TrainLoop(const Recipe& recipe, const TrainingTask& task, BatchSource& source,
            Worker& worker, const std::atomic<bool>* stop);

  // The first hook is the first to be called.
  void add(std::unique_ptr<TrainHook> hook) {
    hooks_.push_back(std::move(hook));
  }

  // Throws Error(kCancelled) when stopped, Error(kNumeric) when the loss is no
  // number, and what hooks throw.
  void run();

  // --- What hooks may look at ---
  const Recipe& recipe() const { return recipe_; }
  const TrainingTask& task() const { return task_; }
  const std::vector<MetricDef>& metrics() const { return metrics_; }
  const MetricDef& deciding_metric() const { return deciding_; }
  Worker& worker() { return worker_; }
  const BatchSource& source() const { return source_; }
  std::int64_t steps_done() const { return steps_done_; }
  std::int64_t steps_in_all() const;
  BatchPosition position() const { return position_; }  // of the next batch
  // The last step's, whose tensors hold until the next one. There must have
  // been one.
  const Batch& batch() const { return *batch_; }
  // Before a step: whether an epoch, or the run, ends with it.
  bool is_last_of_epoch() const;
  // Before a step: its gradients (Worker::gradients()).
  std::vector<NamedTensor> gradients() {
    return worker_.gradients(*batch_, next_step());
  }
  TrainProgress progress() const;
  double samples_per_s() const;
  const StepSeconds& last_step_seconds() const { return step_seconds_; }
  // Since the beginning, without what was interrupted, on the worker's clock.
  double seconds() const { return earlier_seconds_ + worker_.now() - began_; }
  // "step 12 (epoch 1, batch 12)".
  std::string where() const;

  // What the epoch came to: hooks of on_measure() write, those of on_epoch()
  // read.
  EpochMetrics& epoch() { return epoch_; }
  std::int64_t epochs_measured() const { return epochs_measured_; }
  double last_train_loss() const { return last_train_loss_; }
  // What there is to say of the last step; mostly nothing.
  const std::string& note() const { return note_; }

  // No epoch comes after this one, whatever the recipe says.
  void end_here() { is_ended_ = true; }
  // Whether that was said, and that it holds no longer.
  bool is_ended() const { return is_ended_; }
  void go_on() { is_ended_ = false; }

  // --- Checkpoints ---
  // The loop's numbers and all hooks'.
  TrainNumbers remember() const;
  void recall(std::int64_t step, BatchPosition position,
              const TrainNumbers& numbers);

  // Ends the run: `what` is no number.
  [[noreturn]] void fail_numeric(const std::string& what);

 private:
  std::int64_t epochs_in_all() const;
  bool is_done() const;
  void train_epoch();
  void train_batch();
  bool must_meet() const;
  WorkerStep next_step() const;
  // It follows from the step's number alone, so that a resumed run goes on
  // where it was.
  double rate_of(std::int64_t step) const;
  void finish_epoch();

  const Recipe& recipe_;
  const TrainingTask& task_;
  std::vector<MetricDef> metrics_;
  MetricDef deciding_;
  BatchSource& source_;
  Worker& worker_;
  const std::atomic<bool>* stop_;
  std::vector<std::unique_ptr<TrainHook>> hooks_;
  double began_;  // on the worker's clock

  std::int64_t steps_done_ = 0;
  BatchPosition position_;
  const Batch* batch_ = nullptr;
  BatchPosition shown_;  // as position_, but still in an epoch that has ended
  MeasureSums sums_;     // over the epoch so far
  double lr_ = 0;
  std::string note_;
  EpochMetrics epoch_;
  std::int64_t measured_at_ = -1;  // steps_done_ when last measured
  std::int64_t epochs_measured_ = 0;
  double last_train_loss_ = kNotMeasured;
  bool is_ended_ = false;
  std::int64_t examples_trained_ = 0;
  double training_seconds_ = 0;
  StepSeconds step_seconds_;
  double earlier_seconds_ = 0;
};

// How many steps a run makes, unless it ends early.
std::int64_t steps_of(const TrainRecipe& train, std::int64_t batches_per_epoch);

// The metric of that name. It must be there.
MetricDef metric_of(const std::vector<MetricDef>& metrics,
                    std::string_view name);

}  // namespace weft
