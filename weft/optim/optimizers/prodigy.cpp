// Prodigy, which finds its own rate (Mishchenko and Defazio, "Prodigy: an
// expeditiously adaptive parameter-free learner", ICML 2024, algorithm 4): d is
// a lower bound of the distance from the start to a solution, over all
// parameters together. With b = sqrt(beta2):
//
//   r <- b * r + (1 - b) * lr * d^2 * <g, p_0 - p>
//   s <- b * s + (1 - b) * lr * d^2 * g
//   d' = max(d, r / ||s||_1)
//   m <- beta1 * m + (1 - beta1) * d * g
//   v <- beta2 * v + (1 - beta2) * d^2 * g^2
//   p <- p - lr * d * m / (sqrt(v) + d * epsilon) - lr * d * weight_decay * p
#include <cmath>

#include "weft/graph/location.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

class Prodigy : public Optimizer {
 public:
  explicit Prodigy(const Options& options)
      : beta1_(option<double>(options, "beta1")),
        beta2_(option<double>(options, "beta2")),
        epsilon_(option<double>(options, "epsilon")),
        first_distance_(option<double>(options, "first_distance")),
        weight_decay_(option<double>(options, "weight_decay")) {}

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    return {{.name = "start", .type = parameter.type, .is_copy = true},
            {"s", parameter.type},
            {"m", parameter.type},
            {"v", parameter.type}};
  }
  std::vector<Slot> shared_slots() const override {
    return {{.name = "distance",
             .type = {DType::kF32, {}},
             .initial = first_distance_},
            {"r", {DType::kF32, {}}}};
  }
  bool sees_all_parameters() const override { return true; }
  bool has_momentum() const override { return beta1_ != 0; }

  void update(std::span<ParameterStep> parameters, std::span<Value> shared,
              const StepTime& time) const override {
    // The step is made with the distance from before it; what is found counts
    // from the next one on.
    const Value d = shared[0];
    shared[1] = measure(parameters, shared[1], d, time.lr);
    const Value found = estimate(parameters, shared[1], d);
    for (ParameterStep& step : parameters) {
      const LayerScope scope("optimizer/" + step.name);
      move(step, d, time.lr);
    }
    shared[0] = found;
  }

 private:
  // The first pass: s of each parameter, and r of all.
  Value measure(std::span<ParameterStep> parameters, const Value& r,
                const Value& d, const Value& lr) const {
    const double kept = std::sqrt(beta2_);
    const Value weight = lr * d * d * (1 - kept);
    Value next = r * kept;
    for (ParameterStep& step : parameters) {
      Value& s = step.slots[1];
      s = s * kept + weight * step.gradient;
      next =
          next + weight * sum(step.gradient * (step.slots[0] - step.parameter));
    }
    return next;
  }

  static Value estimate(std::span<const ParameterStep> parameters,
                        const Value& r, const Value& d) {
    Value size = scalar_like(d, 0);
    for (const ParameterStep& step : parameters) {
      size = size + sum(abs(step.slots[1]));
    }
    // Without a gradient so far there is nothing to learn from.
    const Value is_zero = equal(size, scalar_like(size, 0));
    const Value quotient = r / where(is_zero, scalar_like(size, 1), size);
    return maximum(d, where(is_zero, d, quotient));
  }

  void move(ParameterStep& step, const Value& d, const Value& lr) const {
    Value& m = step.slots[2];
    Value& v = step.slots[3];
    const Value g = step.gradient * d;
    m = m * beta1_ + g * (1 - beta1_);
    v = v * beta2_ + g * g * (1 - beta2_);
    const Value rate = lr * d;
    Value after = step.parameter - rate * (m / (sqrt(v) + d * epsilon_));
    if (weight_decay_ != 0) {
      after = after - rate * weight_decay_ * step.parameter;
    }
    step.parameter = std::move(after);
  }

  double beta1_;
  double beta2_;
  double epsilon_;
  double first_distance_;
  double weight_decay_;
};

}  // namespace

void register_optimizer_prodigy(OptimizerRegistry& optimizers) {
  optimizers.add(
      {.name = "prodigy",
       .summary = "adaptive moments, with a rate that it finds itself",
       .options = {{"beta1", 0.9, "decay of the mean of gradients", kBelowOne},
                   {"beta2", 0.999, "decay of the mean of their squares",
                    kBelowOne},
                   {"epsilon", 1e-8, "keeps the divisor from zero", kBelowOne},
                   {"first_distance",
                    1e-6,
                    "from which the rate grows",
                    {.least = 1e-12, .most = 1e3, .is_open_above = true}},
                   {"weight_decay", 0.0, "pull towards zero, times the rate",
                    kBelowOne}},
       .default_lr = 1.0,
       .make = [](const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Prodigy>(options);
       }});
}

}  // namespace weft
