// LARS, layer-wise adaptive rates for large batches (You, Gitman and Ginsburg,
// "Large batch training of convolutional networks", 2017, algorithm 1):
//
//   r  = trust * ||p|| / (||g|| + weight_decay * ||p||)
//   v <- momentum * v + lr * r * (g + weight_decay * p)
//   p <- p - v
//
// Parameters of rank 0 or 1 (biases, scales of normalizations) have r = 1 and
// no decay, as in the authors' experiments.
#include "weft/ops/arithmetic.h"
#include "weft/optim/parameter_rule.h"
#include "weft/optim/trust_ratio.h"

namespace weft {
namespace {

class Lars : public ParameterRule {
 public:
  explicit Lars(const Options& options)
      : momentum_(option<double>(options, "momentum")),
        trust_(option<double>(options, "trust")),
        weight_decay_(option<double>(options, "weight_decay")) {}

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    return {{"velocity", parameter.type}};
  }
  bool has_momentum() const override { return momentum_ != 0; }

  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override {
    Value change = scalars[0] * gradient;
    if (parameter.shape().rank() > 1) {
      const Value size = norm(gradient) + norm(parameter) * weight_decay_;
      const Value rate = scalars[0] * trust_ratio(parameter, size) * trust_;
      change = rate * (gradient + parameter * weight_decay_);
    }
    // The rate is inside of the velocity, other than in `momentum`: layers'
    // rates change from step to step.
    const Value v = slots[0] * momentum_ + change;
    return {parameter - v, {v}};
  }

 private:
  double momentum_;
  double trust_;
  double weight_decay_;
};

}  // namespace

void register_optimizer_lars(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "lars",
       .summary = "momentum, each layer moved in proportion to its size",
       .options = {{"momentum", 0.9, "share of the velocity that is kept",
                    kBelowOne},
                   {"trust",
                    0.001,
                    "how far a layer moves for its norm",
                    {.least = 0, .most = 1000, .is_open_above = true}},
                   {"weight_decay", 0.0, "added to the gradient, times p",
                    kBelowOne}},
       .default_lr = 1.0,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Lars>(options);
       }});
}

}  // namespace weft
