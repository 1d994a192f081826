// An optimizer together with the variables that it changes and what it
// remembers of them: the state of training as variables, so that a step runs
// eagerly, is staged by weft::jit, and is saved like everything else.
//
//   VariableUpdater updater(make_optimizer("adam", {}), variables, 1e-3);
//   updater.update(tape.gradient(loss, values));
//
// Threads: caller synchronises.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/graph/variable.h"
#include "weft/optim/optimizer.h"

namespace weft {

class VariableUpdater {
 public:
  // Makes the slots, named "variable.slot", and those that all variables share,
  // by their names alone. Variables are called by `names`; without any by their
  // own, or by their places where these do not tell them apart. Throws
  // Error(kUnsupported) for a variable that is not f32, and
  // Error(kInvalidArgument) for one without a value that a slot is to copy.
  VariableUpdater(std::unique_ptr<Optimizer> optimizer,
                  std::vector<VariableRef> variables, double lr,
                  std::vector<std::string> names = {});

  // One step, with a gradient for each variable, in order. Throws
  // Error(kInvalidArgument) for another number of gradients, and for one of
  // another type than its variable: then nothing has changed.
  void update(std::span<const Value> gradients);

  const std::vector<VariableRef>& variables() const { return variables_; }
  // f32[]: what schedules assign between steps.
  const Variable& learning_rate() const { return learning_rate_; }
  // f64[]: how many steps were taken.
  const Variable& step() const { return step_; }

  struct NamedSlot {
    std::string name;
    const Variable* variable;
  };
  std::vector<NamedSlot> slots() const;
  // What to use in place of each variable: the slot that stands in for it
  // (optim/optimizer.h), or itself.
  std::vector<Variable> used() const;
  // Its formula alone, for others to use.
  const std::shared_ptr<const Optimizer>& optimizer() const {
    return optimizer_;
  }

 private:
  std::shared_ptr<const Optimizer> optimizer_;
  std::vector<VariableRef> variables_;
  std::vector<std::string> names_;  // of the variables, all different
  Variable learning_rate_;
  Variable step_;
  std::vector<std::vector<Variable>> slots_;  // of each variable
  std::vector<Variable> shared_;
};

}  // namespace weft
