// Entering and re-entering functions in phases: graph/phases.h says what that
// means. Gradients make these ops; programs do not call them.
#include "weft/graph/phases.h"

#include "weft/graph/registry.h"
#include "weft/ops/support/closures.h"

namespace weft {
namespace {

std::size_t phase_of(const OpCall& call, const Phases& phases) {
  const std::int64_t phase = call.attributes.integer("phase");
  // Phase 0 is entered, and has no activation to come back to.
  if (phase < 1 || phase >= static_cast<std::int64_t>(phases.count())) {
    throw call.error("there is no phase {} of {} to enter again", phase,
                     phases.count());
  }
  return static_cast<std::size_t>(phase);
}

// The results of one phase, given the arguments of all phases up to it.
std::vector<TensorType> phase_types(const OpCall& call,
                                    const FunctionRef& function,
                                    std::span<const TensorType> arguments,
                                    std::size_t phase) {
  const Phases phases = Phases::of(call.attributes);
  phases.require_fit(call, function);
  const auto& [parameters, results] = *function.signature;
  // Arguments of earlier phases come along, as their types tell the sizes of
  // this phase's results.
  const auto known =
      static_cast<std::ptrdiff_t>(phases.first_argument(phase + 1));
  const auto first = static_cast<std::ptrdiff_t>(phases.first_result(phase));
  const auto last = static_cast<std::ptrdiff_t>(phases.first_result(phase + 1));
  // The signature is cut to what is known: parameters of all phases so far, and
  // the results of this one.
  Signature part{{parameters.begin(), parameters.begin() + known},
                 {results.begin() + first, results.begin() + last}};
  auto types = result_types(
      {function.name, std::make_shared<Signature>(std::move(part))}, arguments);
  // After the last phase there is nothing left to enter.
  if (phase + 1 < phases.count()) types.push_back(kActivation);
  return types;
}

void require_activation(const OpCall& call) {
  if (call.input(0) == kActivation) return;
  throw call.error("the first operand is no activation");
}

std::vector<TensorType> infer_call_enter(const OpCall& call) {
  return phase_types(call, call.attributes.function("function"), call.inputs,
                     0);
}

std::vector<TensorType> infer_call_reenter(const OpCall& call) {
  require_activation(call);
  const FunctionRef& function = call.attributes.function("function");
  const Phases phases = Phases::of(call.attributes);
  return phase_types(call, function, call.inputs.subspan(1),
                     phase_of(call, phases));
}

std::vector<TensorType> both_branches(const OpCall& call,
                                      std::span<const TensorType> operands,
                                      std::size_t phase) {
  // The predicate goes in again at each phase: it says which branch is meant.
  if (!(operands[0] == kTruth)) throw call.error("the predicate is no bool[]");
  const auto arguments = operands.subspan(1);
  auto then =
      phase_types(call, call.attributes.function("then"), arguments, phase);
  const auto otherwise = phase_types(
      call, call.attributes.function("otherwise"), arguments, phase);
  if (then != otherwise) {
    throw call.error("the two branches return different types");
  }
  return then;
}

std::vector<TensorType> infer_cond_enter(const OpCall& call) {
  return both_branches(call, call.inputs, 0);
}

std::vector<TensorType> infer_cond_reenter(const OpCall& call) {
  require_activation(call);
  return both_branches(call, call.inputs.subspan(1),
                       phase_of(call, Phases::of(call.attributes)));
}

// The attributes are those of Phases. There are no gradient rules: reverse mode
// makes these ops from calls, and differentiates them as such.
OpDef& add(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .required("arguments", Integers{})
      .required("results", Integers{})
      .traits(kControl)
      .cost([](const OpCall& call) { return Cost::of(call, 0); });
}

}  // namespace

void register_phases(OpRegistry& ops) {
  add(ops, "call_enter")
      .summary("the first phase of a function, and the activation it leaves")
      .signature("(args...?) -> results")
      .required("function", FunctionRef())
      .infer(infer_call_enter);
  add(ops, "call_reenter")
      .summary("a later phase of an activation")
      .signature("(activation, args...?) -> results")
      .required("function", FunctionRef())
      .required("phase", std::int64_t{1})
      .infer(infer_call_reenter);
  add(ops, "cond_enter")
      .summary("the first phase of a branch, and the activation it leaves")
      .signature("(predicate, args...?) -> results")
      .required("then", FunctionRef())
      .required("otherwise", FunctionRef())
      .infer(infer_cond_enter);
  add(ops, "cond_reenter")
      .summary("a later phase of a branch's activation")
      .signature("(activation, predicate, args...?) -> results")
      .required("then", FunctionRef())
      .required("otherwise", FunctionRef())
      .required("phase", std::int64_t{1})
      .infer(infer_cond_reenter);
}

}  // namespace weft
