#include "weft/graph/registry.h"
#include "weft/ops/control.h"
#include "weft/ops/support/closures.h"

namespace weft {
namespace {

std::vector<TensorType> infer_cond(const OpCall& call) {
  if (!(call.input(0) == kTruth)) {
    throw call.error("the predicate is no bool[]")
        .hint("compare, and reduce to one truth with all() or any()");
  }
  // Both branches take the same operands, as one list of them is given to
  // whichever runs; what only one of them uses is passed to the other unused.
  const auto arguments = call.inputs.subspan(1);
  const auto then = result_types(call.attributes.function("then"), arguments);
  const auto otherwise =
      result_types(call.attributes.function("otherwise"), arguments);
  // Whoever reads the results must not have to know which branch ran.
  if (then != otherwise) {
    throw call.error("the two branches return different types");
  }
  return then;
}

}  // namespace

void register_cond(OpRegistry& ops) {
  ops.add("cond")
      .summary("one of two functions of the arguments, by a predicate")
      .signature("(predicate, args...?) -> results")
      .required("then", FunctionRef())
      .required("otherwise", FunctionRef())
      .traits(kControl)
      .infer(infer_cond)
      // Which branch will run is not known here, so no flops are counted for
      // either.
      .cost([](const OpCall& call) { return Cost::of(call, 0); });
}

std::vector<Value> cond(const Value& predicate, const Branch& then,
                        const Branch& otherwise, const Location& where) {
  static const OpDef& op = op_registry().get("cond");
  FunctionBuilder* builder = current_context().builder();
  // Eagerly one branch runs, and the other is never called. Reading the
  // predicate waits until it is computed.
  if (builder == nullptr) {
    return predicate.tensor().item() != 0 ? then() : otherwise();
  }
  Closures bodies(*builder);
  // Staged, both are traced, as which one will run is not known.
  bodies.add("then", {}, [&](const auto&) { return then(); });
  bodies.add("otherwise", {}, [&](const auto&) { return otherwise(); });
  const auto functions = bodies.finish();
  std::vector<Value> operands{predicate};
  bodies.append_captures(operands);
  return call_all(op, operands,
                  {{"then", functions[0]}, {"otherwise", functions[1]}}, where);
}

}  // namespace weft
