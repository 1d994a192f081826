// Momentum as PyTorch's SGD computes it, shared by sgd, momentum, nesterov:
//
//   g <- g + weight_decay * p        (decay coupled with the gradient)
//   v <- momentum * v + g
//   p <- p - lr * v                  or, with Nesterov's look-ahead,
//   p <- p - lr * (g + momentum * v)
//
// The learning rate stands outside the velocity, so that changing it acts at
// once (Sutskever et al., "On the importance of initialization and momentum
// in deep learning", ICML 2013, section 2, differs in this).
//
// Threads: immutable.
#pragma once

#include "weft/optim/parameter_rule.h"

namespace weft {

class MomentumRule : public ParameterRule {
 public:
  struct Settings {
    double momentum = 0;
    double weight_decay = 0;
    bool nesterov = false;
  };

  explicit MomentumRule(const Settings& settings) : settings_(settings) {}

  std::vector<Slot> slots(const ParameterInfo& parameter) const override;
  Next next(const Value& parameter, const Value& gradient,
            std::span<const Value> slots,
            std::span<const Value> scalars) const override;
  bool is_elementwise() const override { return true; }
  bool has_momentum() const override { return settings_.momentum != 0; }
  bool keeps_without_gradient(std::string_view) const override {
    return settings_.momentum == 0 && settings_.weight_decay == 0;
  }

 private:
  Settings settings_;
};

}  // namespace weft
