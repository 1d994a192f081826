#include "weft/optim/adam_rule.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"

namespace weft {

std::vector<OptionSpec> AdamRule::options(double weight_decay) {
  return {{"beta1", 0.9, "decay of the mean of gradients"},
          {"beta2", 0.999, "decay of the mean of their squares"},
          {"epsilon", 1e-8, "keeps the divisor from zero"},
          {"weight_decay", weight_decay, "pull towards zero"}};
}

AdamRule::Settings AdamRule::settings(const Options& options,
                                      std::string_view name) {
  require_range(options, "beta1", 0, 1, name);
  require_range(options, "beta2", 0, 1, name);
  require_range(options, "epsilon", 0, 1, name);
  require_range(options, "weight_decay", 0, 1, name);
  return {.beta1 = option<double>(options, "beta1"),
          .beta2 = option<double>(options, "beta2"),
          .epsilon = option<double>(options, "epsilon"),
          .weight_decay = option<double>(options, "weight_decay")};
}

std::vector<Value> AdamRule::scalars(const Value& lr, const Value& step) const {
  // In f64: in f32, 1 - 0.999^t has lost four digits when t is 1.
  const auto correction = [&](double beta) {
    return 1.0 - power(scalar_like(step, beta), step);
  };
  const Value step_size = lr / cast(correction(settings_.beta1), lr.dtype());
  const Value scale = cast(1.0 / sqrt(correction(settings_.beta2)), lr.dtype());
  return {lr, step_size, scale};
}

Optimizer::Update AdamRule::update(const Value& parameter,
                                   const Value& gradient,
                                   std::span<const Value> slots,
                                   std::span<const Value> scalars) const {
  const Value& lr = scalars[0];
  const Value& step_size = scalars[1];
  const Value& scale = scalars[2];
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
  const Value m = slots[0] * settings_.beta1 + g * (1 - settings_.beta1);
  const Value v = slots[1] * settings_.beta2 + g * g * (1 - settings_.beta2);
  // Both bias corrections are scalars of the step: sqrt(v) is scaled rather
  // than v, so that epsilon stands where the paper has it.
  return {p - step_size * (m / (sqrt(v) * scale + settings_.epsilon)), {m, v}};
}

}  // namespace weft
