// LAMB (You et al., "Large batch optimization for deep learning: training BERT
// in 76 minutes", ICLR 2020, algorithm 2, with phi the identity):
//
//   m <- beta1 * m + (1 - beta1) * g
//   v <- beta2 * v + (1 - beta2) * g^2
//   u  = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
//        + weight_decay * p
//   p <- p - lr * ||p|| / ||u|| * u
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"
#include "weft/optim/adam_rule.h"
#include "weft/optim/trust_ratio.h"

namespace weft {
namespace {

class Lamb : public AdamRule {
 public:
  explicit Lamb(const Settings& settings) : AdamRule(settings) {}

  bool is_elementwise() const override { return false; }

  std::vector<Value> scalars(const StepTime& time) const override {
    std::vector<Value> all = AdamRule::scalars(time);
    // The mean's correction by itself, as the rate must stay out of the norm.
    all.push_back(1.0 /
                  cast(correction(settings().beta1, time), time.lr.dtype()));
    return all;
  }

  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override {
    const Moments moments = next_moments(gradient, slots);
    Value direction = direction_of(moments, scalars) * scalars[3];
    if (settings().weight_decay != 0) {
      direction = direction + parameter * settings().weight_decay;
    }
    const Value rate = scalars[0] * trust_ratio(parameter, norm(direction));
    return {parameter - rate * direction, {moments.m, moments.v}};
  }
};

}  // namespace

void register_optimizer_lamb(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "lamb",
       .summary =
           "adaptive moments, each layer moved in proportion to its size",
       .options = AdamRule::options(0.01),
       .default_lr = 0.001,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Lamb>(AdamRule::settings(options));
       }});
}

}  // namespace weft
