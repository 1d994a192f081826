#include "weft/optim/momentum_rule.h"

#include "weft/ops/arithmetic.h"

namespace weft {

std::vector<Slot> MomentumRule::slots(const ParameterInfo& parameter) const {
  if (settings_.momentum == 0) return {};
  return {{"velocity", parameter.type}};
}

ParameterRule::Next MomentumRule::next(const Value& parameter,
                                       const Value& gradient,
                                       std::span<const Value> slots,
                                       std::span<const Value> scalars) const {
  const Value& lr = scalars[0];
  Value g = gradient;
  if (settings_.weight_decay != 0) {
    g = g + parameter * settings_.weight_decay;
  }
  if (settings_.momentum == 0) return {parameter - lr * g, {}};
  const Value v = slots[0] * settings_.momentum + g;
  // The parameters that are kept lie a step of momentum ahead, where Nesterov
  // takes the gradient; written for them, the step is this.
  const Value direction = settings_.nesterov ? g + v * settings_.momentum : v;
  return {parameter - lr * direction, {v}};
}

}  // namespace weft
