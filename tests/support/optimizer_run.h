// An optimizer that is run by hand, on one parameter or on several.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/ops/arithmetic.h"
#include "weft/optim/optimizer.h"

namespace weft::test {

class OptimizerRun {
 public:
  OptimizerRun(std::unique_ptr<Optimizer> optimizer,
               const std::vector<Tensor>& parameters)
      : optimizer_(std::move(optimizer)) {
    for (const Tensor& parameter : parameters) {
      ParameterStep step;
      step.name = "p" + std::to_string(steps_.size());
      step.parameter = parameter;
      for (const Slot& slot :
           optimizer_->slots({step.name, parameter.type()})) {
        step.slots.push_back(initial_slot(slot, parameter));
      }
      steps_.push_back(std::move(step));
    }
    for (const Slot& slot : optimizer_->shared_slots()) {
      shared_.push_back(initial_slot(slot));
    }
  }

  // The next step, with a gradient of each parameter, of the parameters before
  // `late` updates.
  void step(const std::vector<Value>& gradients, double lr, double late = 0) {
    ++number_;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      steps_[i].gradient = gradients[i];
    }
    optimizer_->update(
        steps_, shared_,
        {Tensor::scalar(lr, DType::kF32), Tensor::scalar(number_, DType::kF64),
         Tensor::scalar(late, DType::kF64)});
  }

  Tensor parameter(std::size_t i = 0) const {
    return steps_[i].parameter.tensor();
  }
  Tensor slot(std::size_t slot, std::size_t i = 0) const {
    return steps_[i].slots[slot].tensor();
  }
  Tensor shared(std::size_t slot) const { return shared_[slot].tensor(); }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<ParameterStep> steps_;
  std::vector<Value> shared_;
  double number_ = 0;
};

}  // namespace weft::test
