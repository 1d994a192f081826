// RMSProp (Tieleman and Hinton, lecture 6.5 of "Neural networks for machine
// learning", 2012), with optional momentum as in Graves (2013); PyTorch
// calls beta2 alpha:
//
//   g <- g + weight_decay * p
//   s <- beta2 * s + (1 - beta2) * g^2
//   d  = g / (sqrt(s) + epsilon)
//   b <- momentum * b + d
//   p <- p - lr * b            (without momentum: p - lr * d)
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"
#include "weft/optim/parameter_rule.h"

namespace weft {
namespace {

class Rmsprop : public ParameterRule {
 public:
  explicit Rmsprop(const Options& options)
      : beta2_(option<double>(options, "beta2")),
        epsilon_(option<double>(options, "epsilon")),
        momentum_(option<double>(options, "momentum")),
        weight_decay_(option<double>(options, "weight_decay")) {}

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    // Without momentum there is no velocity to keep, nor to save.
    if (momentum_ == 0) return {{"square", parameter.type}};
    return {{"square", parameter.type}, {"velocity", parameter.type}};
  }
  bool is_elementwise() const override { return true; }
  bool has_momentum() const override { return momentum_ != 0; }

  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override {
    const Value& lr = scalars[0];
    Value g = gradient;
    if (weight_decay_ != 0) g = g + parameter * weight_decay_;
    const Value s = slots[0] * beta2_ + g * g * (1 - beta2_);
    const Value direction = g / (sqrt(s) + epsilon_);
    if (momentum_ == 0) return {parameter - lr * direction, {s}};
    const Value b = slots[1] * momentum_ + direction;
    return {parameter - lr * b, {s, b}};
  }

 private:
  double beta2_;
  double epsilon_;
  double momentum_;
  double weight_decay_;
};

}  // namespace

void register_optimizer_rmsprop(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "rmsprop",
       .summary = "steps scaled by a running mean of squared gradients",
       .options = {{"beta2", 0.99, "decay of that mean", kBelowOne},
                   {"epsilon", 1e-8, "keeps the divisor from zero", kBelowOne},
                   {"momentum", 0.0, "share of the velocity that is kept",
                    kBelowOne},
                   {"weight_decay", 0.0, "added to the gradient, times p",
                    kBelowOne}},
       .default_lr = 0.01,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Rmsprop>(options);
       }});
}

}  // namespace weft
