// Each element of a gradient within [-limit, limit].
#include "weft/ops/unary.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

class ClipValue : public OptimizerWrapper {
 public:
  ClipValue(std::unique_ptr<Optimizer> inner, double limit)
      : OptimizerWrapper(std::move(inner)), limit_(limit) {}

  // A gradient of zero stays zero.
  bool keeps_without_gradient(std::string_view parameter) const override {
    return inner().keeps_without_gradient(parameter);
  }
  bool is_elementwise() const override { return inner().is_elementwise(); }

 protected:
  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own&,
                     const StepTime& time) const override {
    for (ParameterStep& step : parameters) {
      step.gradient = clamp(step.gradient, -limit_, limit_);
    }
    inner().update(parameters, shared, time);
  }

 private:
  double limit_;
};

}  // namespace

void register_optimizer_wrapper_clip_value(OptimizerWrapperRegistry& wrappers) {
  wrappers.add(
      {.name = "clip_value",
       .summary = "each element of a gradient within a limit",
       .options = {{"limit", 1.0, "greatest size of an element", kPositive}},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<ClipValue>(std::move(inner),
                                            option<double>(options, "limit"));
       }});
}

}  // namespace weft
