// Gradients of weights without their mean over all axes but the last: what an
// output takes from its inputs then sums to what it began with (Yong, Huang,
// Hua and Zhang, "Gradient centralization", ECCV 2020).
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

class Centralize final : public OptimizerWrapper {
 public:
  using OptimizerWrapper::OptimizerWrapper;

 protected:
  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own&,
                     const StepTime& time) const override {
    for (ParameterStep& step : parameters) {
      Integers inputs;
      for (int axis = 0; axis + 1 < step.gradient.shape().rank(); ++axis) {
        inputs.push_back(axis);
      }
      // Biases have no inputs.
      if (inputs.empty()) continue;
      step.gradient = step.gradient - mean(step.gradient, inputs, true);
    }
    inner().update(parameters, shared, time);
  }
};

}  // namespace

void register_optimizer_wrapper_centralize(OptimizerWrapperRegistry& wrappers) {
  wrappers.add({.name = "centralize",
                .summary = "gradients of weights without their mean",
                .options = {},
                .make = [](std::unique_ptr<Optimizer> inner,
                           const Options&) -> std::unique_ptr<Optimizer> {
                  return std::make_unique<Centralize>(std::move(inner));
                }});
}

}  // namespace weft
