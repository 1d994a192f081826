// A training step on batches of an input and a label, and the other cuts of the
// same description.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "weft/train/step/step.h"

namespace weft::test {

class TrainStep {
 public:
  // `task` as recipes name it.
  TrainStep(nn::Module& model, std::string_view task,
            const Optimizer& optimizer, const std::vector<TensorType>& batch,
            const StepOptions& options = {})
      : task_(make_task(task)),
        description_(model, *task_,
                     {{"input", batch.at(0)}, {"label", batch.at(1)}}, options,
                     &optimizer),
        step_(description_, StepCut::kTrain) {}

  void run(std::span<const Tensor> batch, double lr, std::int64_t number) {
    step_.run(batch, {.lr = lr, .number = number});
  }
  double loss() const { return step_.loss(); }
  // How many predictions of the last run were right.
  double correct() const { return step_.measures().ratios().at(1).sum; }

  Objective objective(const std::vector<Tensor>& batch) const {
    return task_->objective(*description_.model(),
                            std::vector<Value>{batch[0], batch[1]});
  }
  Step cut(StepCut cut) const { return Step(description_, cut); }
  std::vector<NamedTensor> state() const { return description_.state(); }
  Step& step() { return step_; }

 private:
  std::unique_ptr<TrainingTask> task_;
  StepDescription description_;
  Step step_;
};

// The objective of a batch of an input and a label.
inline Objective objective(nn::Module& model, std::string_view task,
                           const Value& input, const Value& label) {
  return make_task(task)->objective(model, std::vector{input, label});
}

}  // namespace weft::test
