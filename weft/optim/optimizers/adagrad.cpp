// AdaGrad (Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR
// 2011, with a diagonal matrix):
//
//   g <- g + weight_decay * p
//   s <- s + g^2
//   p <- p - lr * g / (sqrt(s) + epsilon)
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"
#include "weft/optim/parameter_rule.h"

namespace weft {
namespace {

class Adagrad : public ParameterRule {
 public:
  explicit Adagrad(const Options& options)
      : epsilon_(option<double>(options, "epsilon")),
        weight_decay_(option<double>(options, "weight_decay")) {}

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    return {{"sum", parameter.type}};
  }

  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override {
    Value g = gradient;
    if (weight_decay_ != 0) g = g + parameter * weight_decay_;
    const Value s = slots[0] + g * g;
    return {parameter - scalars[0] * g / (sqrt(s) + epsilon_), {s}};
  }

  bool is_elementwise() const override { return true; }
  // Without epsilon, a place that has had no gradient yet is divided 0 by 0.
  bool keeps_without_gradient(std::string_view) const override {
    return weight_decay_ == 0 && epsilon_ > 0;
  }

 private:
  double epsilon_;
  double weight_decay_;
};

}  // namespace

void register_optimizer_adagrad(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "adagrad",
       .summary = "steps shrink with the sum of squared gradients",
       .options = {{"epsilon", 1e-10, "keeps the divisor from zero", kBelowOne},
                   {"weight_decay", 0.0, "added to the gradient, times p",
                    kBelowOne}},
       .default_lr = 0.01,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Adagrad>(options);
       }});
}

}  // namespace weft
