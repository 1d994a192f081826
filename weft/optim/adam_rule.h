// Adam's update, shared by adam, adamw and lamb (Kingma and Ba, "Adam", ICLR
// 2015, algorithm 1; decay: Loshchilov and Hutter, "Decoupled weight decay
// regularization", ICLR 2019, algorithm 2):
//
//   g <- g + weight_decay * p                        (coupled: adam)
//   p <- p - lr * weight_decay * p                   (decoupled: adamw)
//   m <- b1 * m + (1 - b1) * g
//   v <- b2 * v + (1 - b2) * g^2
//   p <- p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + epsilon)
//
// Threads: immutable.
#pragma once

#include "weft/optim/parameter_rule.h"

namespace weft {

class AdamRule : public ParameterRule {
 public:
  struct Settings {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
    bool is_decoupled = false;
  };

  explicit AdamRule(const Settings& settings) : settings_(settings) {}

  // What both optimizers declare, and how it is read.
  static std::vector<OptionSpec> options(double weight_decay);
  static Settings settings(const Options& options);

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    return {{"m", parameter.type}, {"v", parameter.type}};
  }
  std::vector<Value> scalars(const StepTime& time) const override;
  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override;
  bool is_elementwise() const override { return true; }
  bool has_momentum() const override { return settings_.beta1 != 0; }

 protected:
  const Settings& settings() const { return settings_; }
  // 1 - beta^t, in f64: in f32, 1 - 0.999^t has lost four digits when t is 1.
  static Value correction(double beta, const StepTime& time);

  struct Moments {
    Value m;
    Value v;
  };
  Moments next_moments(const Value& gradient,
                       std::span<const Value> slots) const;
  // m over the root of v; v is corrected for its start at zero, and m is not.
  Value direction_of(const Moments& moments,
                     std::span<const Value> scalars) const;

 private:
  Settings settings_;
};

}  // namespace weft
