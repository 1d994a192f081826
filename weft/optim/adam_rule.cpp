#include "weft/optim/adam_rule.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"

namespace weft {

std::vector<OptionSpec> AdamRule::options(double weight_decay) {
  return {{"beta1", 0.9, "decay of the mean of gradients", kBelowOne},
          {"beta2", 0.999, "decay of the mean of their squares", kBelowOne},
          {"epsilon", 1e-8, "keeps the divisor from zero", kBelowOne},
          {"weight_decay", weight_decay, "pull towards zero", kBelowOne}};
}

AdamRule::Settings AdamRule::settings(const Options& options) {
  return {.beta1 = option<double>(options, "beta1"),
          .beta2 = option<double>(options, "beta2"),
          .epsilon = option<double>(options, "epsilon"),
          .weight_decay = option<double>(options, "weight_decay")};
}

Value AdamRule::correction(double beta, const StepTime& time) {
  return 1.0 - power(scalar_like(time.number, beta), time.number);
}

std::vector<Value> AdamRule::scalars(const StepTime& time) const {
  const DType dtype = time.lr.dtype();
  // Both corrections are scalars of the step: the mean's is taken with the
  // rate, and sqrt(v) is scaled rather than v, so that epsilon stands where the
  // paper has it.
  return {time.lr, time.lr / cast(correction(settings_.beta1, time), dtype),
          cast(1.0 / sqrt(correction(settings_.beta2, time)), dtype)};
}

AdamRule::Moments AdamRule::next_moments(const Value& gradient,
                                         std::span<const Value> slots) const {
  return {
      slots[0] * settings_.beta1 + gradient * (1 - settings_.beta1),
      slots[1] * settings_.beta2 + gradient * gradient * (1 - settings_.beta2)};
}

Value AdamRule::direction_of(const Moments& moments,
                             std::span<const Value> scalars) const {
  return moments.m / (sqrt(moments.v) * scalars[2] + settings_.epsilon);
}

ParameterRule::Next AdamRule::next(const Value& parameter,
                                   const Value& gradient,
                                   std::span<const Value> slots,
                                   std::span<const Value> scalars) const {
  const Value& lr = scalars[0];
  Value p = parameter;
  Value g = gradient;
  if (settings_.weight_decay != 0) {
    // Decoupled, the decay is not divided by the gradient's scale (AdamW).
    if (settings_.is_decoupled) {
      p = p - lr * settings_.weight_decay * p;
    } else {
      g = g + p * settings_.weight_decay;
    }
  }
  const Moments moments = next_moments(g, slots);
  return {p - scalars[1] * direction_of(moments, scalars),
          {moments.m, moments.v}};
}

}  // namespace weft
