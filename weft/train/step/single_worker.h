// The only worker: gradients and update are one function.
//
// Threads: caller synchronises.
#pragma once

#include "weft/train/step/gradient_probe.h"
#include "weft/train/step/step.h"
#include "weft/train/step/worker.h"

namespace weft {

// Restores the state of a worker that is alone, also from a checkpoint of
// several. Throws as Worker::restore().
void restore_alone(const std::vector<NamedTensor>& state,
                   const CheckpointFile& file);

class SingleWorker : public Worker {
 public:
  explicit SingleWorker(const StepDescription& description)
      : description_(description),
        state_(description.state()),
        step_(description, StepCut::kTrain) {}

  WorkerTotals run(const Batch& batch, const WorkerStep& step) override;
  void reset_carried() override { step_.reset_carried(); }
  const std::vector<NamedTensor>& state() const override { return state_; }
  std::vector<NamedTensor> checkpoint() override { return state_; }
  std::vector<NamedTensor> gradients(const Batch& batch,
                                     const WorkerStep& step) override;
  const Function* function() const override { return &step_.function(); }
  std::size_t step_bytes() override {
    return step_.is_tagged() ? 0 : step_.plan().arena_bytes();
  }
  std::string restore(const CheckpointFile& file) override {
    restore_alone(state_, file);
    return "";
  }

 private:
  StepDescription description_;
  std::vector<NamedTensor> state_;
  Step step_;
  std::optional<GradientProbe> probe_;  // made when it is asked first
};

}  // namespace weft
