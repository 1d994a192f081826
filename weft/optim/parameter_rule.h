// Optimizers that are one formula for each parameter by itself.
//
// Threads: immutable.
#pragma once

#include "weft/optim/optimizer.h"

namespace weft {

class ParameterRule : public Optimizer {
 public:
  // Numbers that all parameters share in a step, computed once, as Adam's bias
  // corrections are: at least the learning rate.
  virtual std::vector<Value> scalars(const StepTime& time) const;

  struct Next {
    Value parameter;
    std::vector<Value> slots;
  };
  // The next parameter and slots.
  virtual Next next(const Value& parameter, const Value& gradient,
                    std::span<const Value> slots,
                    std::span<const Value> scalars) const = 0;

  void update(std::span<ParameterStep> parameters, std::span<Value> shared,
              const StepTime& time) const final;
};

}  // namespace weft
