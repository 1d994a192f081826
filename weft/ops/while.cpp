#include "weft/graph/registry.h"
#include "weft/ops/control.h"
#include "weft/ops/support/closures.h"
#include "weft/ops/support/onnx.h"

namespace weft {
namespace {

// One truth is asked for: several would need a rule by which they decide.
void require_truth(const OpCall& call, const std::vector<TensorType>& types) {
  if (types != std::vector{kTruth}) {
    throw call.error("the condition does not return one bool[]");
  }
}

void require_next(const OpCall& call, const std::vector<TensorType>& types,
                  std::size_t carried) {
  require_carried(call, types, carried);
  // Operands beyond the carried ones are captures, which the body reads and
  // never returns.
  if (types.size() != carried) {
    throw call.error("the body returns {} values, but {} are carried",
                     types.size(), carried);
  }
}

std::vector<TensorType> infer_while(const OpCall& call) {
  const std::size_t carried = carried_count(call);
  require_truth(
      call, result_types(call.attributes.function("condition"), call.inputs));
  auto next = result_types(call.attributes.function("body"), call.inputs);
  require_next(call, next, carried);
  return next;
}

// Where ops run at once, the loop is the host's, and each condition waits until
// its value is computed.
std::vector<Value> run_while(const LoopAtOnce& loop, std::vector<Value> carried,
                             const LoopCondition& condition,
                             const LoopBody& body) {
  for (;;) {
    const Value truth = condition(carried);
    loop.require(
        [&](const OpCall& call) { require_truth(call, {truth.type()}); });
    if (truth.tensor().item() == 0) return carried;
    std::vector<Value> next = body(carried);
    loop.require([&](const OpCall& call) {
      require_next(call, types_of(next), carried.size());
    });
    carried = std::move(next);
  }
}

// ONNX's body tells whether another step follows; before the first one the
// condition is asked by itself.
void export_while(OnnxContext& c) {
  const std::size_t carried = carried_count(c.call());
  OnnxContext::Names first, captured;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    (i < carried ? first : captured).push_back(c.x(i));
  }
  const auto with_captured = [&](OnnxContext::Names names) {
    names.insert(names.end(), captured.begin(), captured.end());
    return names;
  };
  const auto holds = [&](const OnnxContext::Names& values) {
    return c.run(c.attributes().function("condition"),
                 with_captured(values))[0];
  };
  OnnxContext::Body body{
      "body", {{DType::kI64, {}}, kTruth}, [&](const auto& inputs) {
        const OnnxContext::Names now(inputs.begin() + 2, inputs.end());
        auto next = c.run(c.attributes().function("body"), with_captured(now));
        next.insert(next.begin(), holds(next));
        return next;
      }};
  const auto types = c.call().inputs.first(carried);
  body.inputs.insert(body.inputs.end(), types.begin(), types.end());
  OnnxContext::Names operands = {"", holds(first)};
  operands.insert(operands.end(), first.begin(), first.end());
  const auto results = c.emit("Loop", operands, {}, {body}, carried);
  for (std::size_t i = 0; i < results.size(); ++i) c.set(i, results[i]);
}

}  // namespace

void register_while(OpRegistry& ops) {
  ops.add("while")
      .summary("a function of the carried values, as long as a condition holds")
      .signature("(values...) -> results")
      .required("condition", FunctionRef())
      .required("body", FunctionRef())
      .required("carried", std::int64_t{1})
      .traits(kControl)
      .infer(infer_while)
      .onnx(export_while)
      .cost([](const OpCall& call) { return Cost::of(call, 0); });
}

std::vector<Value> while_loop(std::vector<Value> initial,
                              const LoopCondition& condition,
                              const LoopBody& body, const Location& where) {
  static const OpDef& op = op_registry().get("while");
  FunctionBuilder* builder = current_context().builder();
  if (builder == nullptr) {
    const LoopAtOnce loop(op, initial, where);
    return run_while(loop, std::move(initial), condition, body);
  }
  const auto types = types_of(initial);
  Closures bodies(*builder);
  bodies.add("condition", types, [&](const auto& values) {
    return std::vector{condition(values)};
  });
  bodies.add("body", types, body);
  const auto functions = bodies.finish();
  // The count is taken before captures are appended to the same list.
  const auto carried = static_cast<std::int64_t>(initial.size());
  bodies.append_captures(initial);
  return call_all(op, initial,
                  {{"condition", functions[0]},
                   {"body", functions[1]},
                   {"carried", carried}},
                  where);
}

}  // namespace weft
