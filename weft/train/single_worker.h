// The only worker: gradients and update are one function.
//
// Threads: caller synchronises.
#pragma once

#include "weft/train/train_step.h"
#include "weft/train/worker.h"

namespace weft {

class SingleWorker : public Worker {
 public:
  // Arguments are those of TrainStep.
  SingleWorker(nn::Layer& model, TaskKind task, const Optimizer& optimizer,
               const std::vector<TensorType>& batch,
               const TrainStepOptions& options)
      : task_(task), step_(model, task, optimizer, batch, options) {}

  WorkerTotals run(const Batch& batch, const WorkerStep& step) override;
  void reset_carried() override { step_.reset_carried(); }
  const std::vector<NamedTensor>& state() const override {
    return step_.state();
  }
  std::vector<NamedTensor> checkpoint() override { return step_.state(); }
  std::string restore(const CheckpointFile& file) override;

 private:
  TaskKind task_;
  TrainStep step_;
};

}  // namespace weft
