// Functions in phases: what gradients make of calls.
//
// The gradient of a call must find what the call computed. So reverse mode
// gives y = f(x) a *joint* function f*: (x, dy) -> (y, dx), whose body is that
// of f with its gradient appended (Kostopoulou et al., arXiv 2410.20225). It
// runs in two phases: the call enters it with x and gets y, and later enters
// the same activation again with dy and gets dx; all that the first phase
// computed is still there. Nothing is stored elsewhere or computed again.
//
//   %1, %2 = call_enter(%0) {function = @f.joint(f32[], f32[]) ->
//              (f32[], f32[]), arguments = [1, 1], results = [1, 1]}
//              : f32[], i64[]
//   %4 = call_reenter(%2, %0, %3) {…, phase = 1} : f32[]
//
// Differentiating a function of n phases gives one of 2n: phase n + i takes the
// gradients of the results of phase n - 1 - i, and returns those of its
// arguments. So f** = (x | dy | d(dx) | d(y)) -> (y | dx | d(dy) | d(x)).
//
// - `arguments` and `results` say how many parameters and results of the
//   function belong to each phase, in order.
// - The last result of an enter, and of every re-entry but that of the last
//   phase, is the activation, an i64[] that only the re-entry of the next
//   phase reads. Both stand in the same function, so a pair is known from the
//   graph; what the number is, the executor chooses.
// - A re-entry is given the arguments of all phases so far. Those of earlier
//   phases are the ones that went in then: they are there for their types.
// - What a phase may compute is what depends on no later phase's parameters;
//   what it must compute is what its results need.
// - cond_enter and cond_reenter are the same for a branch: the predicate comes
//   before the arguments, and is the same in all phases.
// - An activation that is not entered again ends with its caller's. It is
//   entered once per phase: enters are never merged.
//
// Threads: a value type.
#pragma once

#include "weft/graph/function.h"

namespace weft {

// What an activation is called by.
inline const TensorType kActivation{DType::kI64, {}};

// Whether an op begins an activation.
bool leaves_activation(const OpDef& op);
// Whether an op enters one again.
bool enters_again(const OpDef& op);
// Whether an op enters one of two functions, by a predicate.
bool is_branch(const OpDef& op);

struct Phases {
  Integers arguments;  // parameters of each phase
  Integers results;    // results of each phase

  // The one phase of a function that is called as a whole.
  static Phases whole(const Signature& signature);
  // Those of an enter or a re-entry.
  static Phases of(const Attributes& attributes);
  // Throws Error(kInvalidArgument) unless they add up to the signature.
  void require_fit(const OpCall& call, const FunctionRef& function) const;

  std::size_t count() const { return arguments.size(); }
  // The first parameter and result of a phase; of count(), one past the last.
  std::size_t first_argument(std::size_t phase) const;
  std::size_t first_result(std::size_t phase) const;
  // The phase in which each value of `function` is known first.
  std::vector<std::size_t> of_values(const Function& function) const;

  bool operator==(const Phases&) const = default;
};

}  // namespace weft
