// Adam's update, shared by adam and adamw (Kingma and Ba, "Adam", ICLR 2015,
// algorithm 1; decay: Loshchilov and Hutter, "Decoupled weight decay
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

#include "weft/optim/optimizer.h"

namespace weft {

class AdamRule : public Optimizer {
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
  static Settings settings(const Options& options, std::string_view name);

  std::vector<std::string> slots() const override { return {"m", "v"}; }
  std::vector<Value> scalars(const Value& lr, const Value& step) const override;
  Update update(const Value& parameter, const Value& gradient,
                std::span<const Value> slots,
                std::span<const Value> scalars) const override;

 private:
  Settings settings_;
};

}  // namespace weft
