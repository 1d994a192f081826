#include "weft/ops/compare.h"

#include <functional>

#include "weft/graph/registry.h"
#include "weft/ops/constant.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"

namespace weft {
namespace {

std::vector<TensorType> infer_logic(const OpCall& call) {
  require_bool(call, call.inputs.size());
  return {{DType::kBool, broadcast_shapes(call)}};
}

std::vector<TensorType> infer_predicate(const OpCall& call) {
  return {{DType::kBool, call.input(0).shape}};
}

std::vector<TensorType> infer_where(const OpCall& call) {
  require_bool(call, 1);
  // The condition is bool whatever the choices are, so only these must agree.
  require_one_dtype(call, 1);
  return {{call.input(1).dtype, broadcast_shapes(call)}};
}

Gradients where_gradient(const GradientContext& g) {
  // This is no product with the condition: the side that was not chosen may
  // have given NaN, and zero times NaN is no zero.
  const Value zero = scalar_like(g.dy(), 0);
  return {Value(), sum_to(where(g.x(0), g.dy(), zero), g.x(1).shape()),
          sum_to(where(g.x(0), zero, g.dy()), g.x(2).shape())};
}

// Linear in both choices together, for a condition that the instances share.
// Where conditions differ, the sum takes each instance's own choice, and there
// is no sum of operands to choose from.
std::vector<Value> sum_of_choices(const BatchContext& g) {
  // An empty list says that there is no such rule for this case.
  if (g.is_batched(0)) return {};
  const Value a = g.sum(1);
  const Value b = g.sum(2);
  return {where(g.x(0), a, b)};
}

// Small integers, so that equality happens.
std::vector<OpSample> comparison_samples() {
  auto samples = integer_samples(-2, 2);
  for (auto& sample : binary_samples(-1, 1, -1, 1)) {
    samples.push_back(std::move(sample));
  }
  samples.push_back({{bools({3, 4}), bools({4})}, {}});
  return samples;
}

std::vector<OpSample> logic_samples() {
  return {{{bools({3, 5}), bools({3, 5})}, {}},
          {{bools({4, 1, 3}), bools({2, 1})}, {}},
          {{bools({}), bools({37})}, {}},
          {{bools({0, 3}), bools({3})}, {}}};
}

std::vector<OpSample> predicate_samples() {
  auto samples = with_integer_vectors(unary_samples(-2, 2));
  samples.push_back({{bools({3, 5})}, {}});
  return samples;
}

// Each operand is in turn the one that broadcasts.
std::vector<OpSample> where_samples() {
  return {{{bools({3, 5}), floats({3, 5}), floats({3, 5})}, {}},
          {{bools({3, 1}), floats({5}), floats({})}, {}},
          {{bools({}), floats({2, 3}), floats({3})}, {}},
          {{bools({2, 1, 4}), floats({3, 1}), floats({1})}, {}},
          {{bools({0}), floats({1}), floats({0})}, {}},
          {{bools({37}), floats({37}, -1, 1, DType::kBF16),
            floats({37}, -1, 1, DType::kBF16)},
           {}},
          {{bools({9}), integers({9}, -9, 9), integers({1}, -9, 9)}, {}}};
}

OpDef& comparison(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(a, b) -> y")
      // A comparison is a step function: its slope is 0 or none.
      .traits(kElementwise | kNoGradient)
      // Bools may be compared too, so this inference does not ask for numbers.
      .infer(infer_comparison)
      .batch(batch_elementwise)
      .cost(elementwise_cost<1>)
      .samples(comparison_samples);
}

OpDef& logic(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(a, b) -> y")
      .traits(kElementwise | kNoGradient | kCommutative)
      .infer(infer_logic)
      .batch(batch_elementwise)
      .cost(elementwise_cost<1>)
      .samples(logic_samples);
}

OpDef& predicate(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(x) -> y")
      // A predicate is constant almost everywhere.
      .traits(kElementwise | kNoGradient)
      .infer(infer_predicate)
      .batch(batch_elementwise)
      .cost(elementwise_cost<1>)
      .samples(predicate_samples);
}

// Every integer is finite, which it is also equal to itself for.
void export_is_finite(OnnxContext& c) {
  const OnnxOperands x = broadcast_operands(c);
  const std::string& name = x.names[0];
  if (!is_floating(c.type(0).dtype)) {
    return set_like(c, x, c.emit("Equal", {name, name}));
  }
  set_like(c, x,
           c.emit("Not", {c.emit("Or", {c.emit("IsInf", {name}),
                                        c.emit("IsNaN", {name})})}));
}

// NaN alone differs from itself.
void export_is_nan(OnnxContext& c) {
  const OnnxOperands x = broadcast_operands(c);
  const std::string& name = x.names[0];
  set_like(c, x, c.emit("Not", {c.emit("Equal", {name, name})}));
}

}  // namespace

void register_compare(OpRegistry& ops) {
  comparison(ops, "equal")
      .summary("a == b")
      .traits(kCommutative)
      .reference(elementwise_reference<std::equal_to<>{}>)
      .onnx(onnx_elementwise<"Equal">);
  comparison(ops, "not_equal")
      .summary("a != b")
      .traits(kCommutative)
      .reference(elementwise_reference<std::not_equal_to<>{}>)
      .onnx(onnx_negated<"Equal">);
  comparison(ops, "less")
      .summary("a < b")
      .reference(elementwise_reference<std::less<>{}>)
      .onnx(onnx_elementwise<"Less">);
  comparison(ops, "less_equal")
      .summary("a <= b")
      .reference(elementwise_reference<std::less_equal<>{}>)
      .onnx(onnx_elementwise<"LessOrEqual">);
  comparison(ops, "greater")
      .summary("a > b")
      .reference(elementwise_reference<std::greater<>{}>)
      .onnx(onnx_elementwise<"Greater">);
  comparison(ops, "greater_equal")
      .summary("a >= b")
      .reference(elementwise_reference<std::greater_equal<>{}>)
      .onnx(onnx_elementwise<"GreaterOrEqual">);
  logic(ops, "logical_and")
      .summary("a and b")
      // Reference loops pass bools as numbers, so truth is a comparison with 0.
      .reference(elementwise_reference<[](auto a, auto b) {
        return a != 0 && b != 0;
      }>)
      .onnx(onnx_elementwise<"And">);
  logic(ops, "logical_or")
      .summary("a or b")
      .reference(elementwise_reference<[](auto a, auto b) {
        return a != 0 || b != 0;
      }>)
      .onnx(onnx_elementwise<"Or">);
  logic(ops, "logical_xor")
      .summary("a or b, but not both")
      .reference(elementwise_reference<[](auto a, auto b) {
        return (a != 0) != (b != 0);
      }>)
      .onnx(onnx_elementwise<"Xor">);
  // It is not made by logic(), which declares two operands and that they
  // commute.
  ops.add("logical_not")
      .summary("not a")
      .signature("(a) -> y")
      .traits(kElementwise | kNoGradient)
      .infer(infer_logic)
      .reference(elementwise_reference<[](auto a) { return a == 0; }>)
      .batch(batch_elementwise)
      .onnx(onnx_elementwise<"Not">)
      .cost(elementwise_cost<1>)
      .samples([] {
        return std::vector<OpSample>{{{bools({3, 5})}, {}}, {{bools({})}, {}}};
      });
  predicate(ops, "is_finite")
      .summary("x is no infinity and not NaN")
      .reference(elementwise_reference<kIsFinite>)
      .onnx(export_is_finite);
  predicate(ops, "is_nan")
      .summary("x is not a number")
      .reference(elementwise_reference<kIsNan>)
      .onnx(export_is_nan);
  ops.add("where")
      .summary("a where the condition holds, else b")
      .signature("(condition, a, b) -> y")
      .traits(kElementwise)
      .infer(infer_where)
      // Integers of 64 bits stay exact: where neither choice is a float, the
      // loop computes in int64.
      .reference(elementwise_reference<[](auto condition, auto a, auto b) {
        return condition != 0 ? a : b;
      }>)
      .gradient(where_gradient)
      .batch(batch_elementwise, sum_of_choices)
      .onnx(onnx_elementwise<"Where">)
      .cost(elementwise_cost<1>)
      .samples(where_samples);
}

Value equal(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("equal");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value not_equal(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("not_equal");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value less(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("less");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value less_equal(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("less_equal");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value greater(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("greater");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value greater_equal(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("greater_equal");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value logical_and(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("logical_and");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value logical_or(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("logical_or");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value logical_xor(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("logical_xor");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value logical_not(const Operand& a) {
  static const OpDef& op = op_registry().get("logical_not");
  return call(op, {a.value}, {}, a.location);
}

Value is_finite(const Operand& x) {
  static const OpDef& op = op_registry().get("is_finite");
  return call(op, {x.value}, {}, x.location);
}

Value is_nan(const Operand& x) {
  static const OpDef& op = op_registry().get("is_nan");
  return call(op, {x.value}, {}, x.location);
}

Value where(const Operand& condition, const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("where");
  return call(op, {condition.value, a.value, b.value}, {}, condition.location);
}

}  // namespace weft
