#include "weft/graph/registry.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/control.h"
#include "weft/ops/support/closures.h"
#include "weft/ops/support/onnx.h"

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
  auto then = result_types(call.attributes.function("then"), arguments);
  const auto otherwise =
      result_types(call.attributes.function("otherwise"), arguments);
  // Whoever reads the results must not have to know which branch ran.
  if (then != otherwise) {
    throw call.error("the two branches return different types");
  }
  return then;
}

// ONNX's branches see what is around them, and so take no operands.
void export_cond(OnnxContext& c) {
  OnnxContext::Names arguments;
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    arguments.push_back(c.x(i));
  }
  const auto branch = [&](const char* attribute, const char* function) {
    return OnnxContext::Body{
        attribute, {}, [&c, &arguments, function](const auto&) {
          return c.run(c.attributes().function(function), arguments);
        }};
  };
  const auto results = c.emit(
      "If", {c.x(0)}, {},
      {branch("then_branch", "then"), branch("else_branch", "otherwise")},
      c.call().outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) c.set(i, results[i]);
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
      .onnx(export_cond)
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

std::vector<Value> switch_case(const Value& index,
                               const std::vector<Branch>& branches,
                               const Location& where) {
  const auto count = static_cast<std::int64_t>(branches.size());
  const bool is_whole =
      index.dtype() == DType::kI64 || index.dtype() == DType::kI32;
  if (count == 0 || !is_whole || !index.shape().is_scalar()) {
    throw Error(
        ErrorCode::kInvalidArgument, "switch_case",
        "{} branches by {}; an i32[] or i64[] says which of one or more", count,
        to_string(index.type()));
  }
  if (current_context().builder() == nullptr) {
    const auto number = static_cast<std::int64_t>(index.tensor().item());
    if (number < 0 || number >= count) {
      throw Error(ErrorCode::kInvalidArgument, "switch_case",
                  "there is no branch {} of {}", number, count);
    }
    return branches[static_cast<std::size_t>(number)]();
  }
  // The branches are halved, so that one of n takes log n decisions.
  const std::function<std::vector<Value>(std::int64_t, std::int64_t)> among =
      [&](std::int64_t first, std::int64_t last) {
        if (last - first == 1) {
          return branches[static_cast<std::size_t>(first)]();
        }
        const std::int64_t middle = (first + last) / 2;
        return cond(
            less(index, scalar_like(index, static_cast<double>(middle))),
            [&] { return among(first, middle); },
            [&] { return among(middle, last); }, where);
      };
  return among(0, count);
}

}  // namespace weft
