// AdaMax (Kingma and Ba, "Adam", ICLR 2015, algorithm 2): Adam whose second
// moment is the largest gradient of late, which forgets slowly:
//
//   m <- beta1 * m + (1 - beta1) * g
//   u <- max(beta2 * u, |g|)
//   p <- p - lr / (1 - beta1^t) * m / (u + epsilon)
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"
#include "weft/optim/parameter_rule.h"

namespace weft {
namespace {

class AdaMax final : public ParameterRule {
 public:
  explicit AdaMax(const Options& options)
      : beta1_(option<double>(options, "beta1")),
        beta2_(option<double>(options, "beta2")),
        epsilon_(option<double>(options, "epsilon")) {}

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    return {{"m", parameter.type}, {"u", parameter.type}};
  }
  bool is_elementwise() const override { return true; }
  bool has_momentum() const override { return beta1_ != 0; }

  // This is computed in f64: in f32, 1 - 0.999^t has lost four digits when t is
  // 1.
  std::vector<Value> scalars(const StepTime& time) const override {
    const Value correction =
        1.0 - power(scalar_like(time.number, beta1_), time.number);
    return {time.lr / cast(correction, time.lr.dtype())};
  }

  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override {
    const Value m = slots[0] * beta1_ + gradient * (1 - beta1_);
    const Value u = maximum(slots[1] * beta2_, abs(gradient));
    return {parameter - scalars[0] * m / (u + epsilon_), {m, u}};
  }

 private:
  double beta1_;
  double beta2_;
  double epsilon_;
};

constexpr NumberRange kShare{.least = 0, .most = 1, .is_open_above = true};

}  // namespace

void register_optimizer_adamax(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "adamax",
       .summary = "Adam, divided by the largest gradient of late",
       .options = {{"beta1", 0.9, "decay of the mean of gradients", kShare},
                   {"beta2", 0.999, "decay of the largest gradient", kShare},
                   {"epsilon",
                    1e-8,
                    "keeps the divisor from zero",
                    {.least = 0, .is_open_below = true}}},
       .default_lr = 0.002,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<AdaMax>(options);
       }});
}

}  // namespace weft
