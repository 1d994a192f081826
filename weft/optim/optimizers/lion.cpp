// Lion (Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS
// 2023, program 1):
//
//   u = sign(beta1 * m + (1 - beta1) * g)
//   p <- p - lr * (u + weight_decay * p)
//   m <- beta2 * m + (1 - beta2) * g
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"
#include "weft/optim/parameter_rule.h"

namespace weft {
namespace {

class Lion : public ParameterRule {
 public:
  explicit Lion(const Options& options)
      : beta1_(option<double>(options, "beta1")),
        beta2_(option<double>(options, "beta2")),
        weight_decay_(option<double>(options, "weight_decay")) {}

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    return {{"m", parameter.type}};
  }
  bool is_elementwise() const override { return true; }
  bool has_momentum() const override { return true; }

  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override {
    const Value& m = slots[0];
    // All elements move equally far, so the rate is to be a third to a tenth of
    // Adam's.
    Value direction = sign(m * beta1_ + gradient * (1 - beta1_));
    if (weight_decay_ != 0) direction = direction + parameter * weight_decay_;
    return {parameter - scalars[0] * direction,
            {m * beta2_ + gradient * (1 - beta2_)}};
  }

 private:
  double beta1_;
  double beta2_;
  double weight_decay_;
};

}  // namespace

void register_optimizer_lion(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "lion",
       .summary = "the sign of a running mean of gradients",
       .options = {{"beta1", 0.9, "share of the mean in a step's direction",
                    kBelowOne},
                   {"beta2", 0.99, "decay of the mean of gradients", kBelowOne},
                   {"weight_decay",
                    0.0,
                    "pull towards zero, times the rate",
                    {.least = 0, .most = 10, .is_open_above = true}}},
       .default_lr = 0.0001,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Lion>(options);
       }});
}

}  // namespace weft
