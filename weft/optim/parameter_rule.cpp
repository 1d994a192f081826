#include "weft/optim/parameter_rule.h"

#include "weft/graph/location.h"

namespace weft {

std::vector<Value> ParameterRule::scalars(const StepTime& time) const {
  return {time.lr};
}

void ParameterRule::update(std::span<ParameterStep> parameters,
                           std::span<Value>, const StepTime& time) const {
  const std::vector<Value> shared = scalars(time);
  for (ParameterStep& step : parameters) {
    // Profiles and traces show what each parameter costs.
    const LayerScope scope("optimizer/" + step.name);
    Next after = next(step.parameter, step.gradient, step.slots, shared);
    step.parameter = std::move(after.parameter);
    step.slots = std::move(after.slots);
  }
}

}  // namespace weft
