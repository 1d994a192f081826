// Operands broadcast, which repeats elements. The transpose of a repetition is
// a sum, so each rule here ends with sum_to() for the operand's own shape.
#include "weft/ops/arithmetic.h"

#include "weft/graph/registry.h"
#include "weft/ops/compare.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

Gradients add_gradient(const GradientContext& g) {
  return {sum_to(g.dy(), g.x(0).shape()), sum_to(g.dy(), g.x(1).shape())};
}

Gradients subtract_gradient(const GradientContext& g) {
  return {sum_to(g.dy(), g.x(0).shape()),
          negate(sum_to(g.dy(), g.x(1).shape()))};
}

// The slopes of a b are b and a.
Gradients multiply_gradient(const GradientContext& g) {
  return {sum_to(g.dy() * g.x(1), g.x(0).shape()),
          sum_to(g.dy() * g.x(0), g.x(1).shape())};
}

Gradients divide_gradient(const GradientContext& g) {
  // With y = a / b, the gradient of b is -dy y / b. The first gradient, dy / b,
  // is a factor of it, which saves a second quotient.
  const Value da = g.dy() / g.x(1);
  return {sum_to(da, g.x(0).shape()),
          sum_to(negate(da * g.y()), g.x(1).shape())};
}

// Ties count for the first operand, so that the shares add up to one.
Gradients choice_gradient(const GradientContext& g, const Value& first_wins) {
  const Value zero = scalar_like(g.dy(), 0);
  return {sum_to(where(first_wins, g.dy(), zero), g.x(0).shape()),
          sum_to(where(first_wins, zero, g.dy()), g.x(1).shape())};
}

Gradients maximum_gradient(const GradientContext& g) {
  return choice_gradient(g, greater_equal(g.x(0), g.x(1)));
}

Gradients minimum_gradient(const GradientContext& g) {
  return choice_gradient(g, less_equal(g.x(0), g.x(1)));
}

// The slopes are b a^(b-1) in a and a^b log a in b. At b = 0 the first is 0
// even for a = 0, and the second is taken as 0 where the logarithm does not
// exist.
Gradients power_gradient(const GradientContext& g) {
  const Value& a = g.x(0);
  const Value& b = g.x(1);
  const Value zero = scalar_like(a, 0);
  const Value one = scalar_like(a, 1);
  // Without the choice, a = b = 0 would make 0 times infinity, which is NaN.
  const Value slope = where(equal(b, zero), zero, b * power(a, b - one));
  // The choice is made of the logarithm's operand: made of its result, it would
  // still leave the next derivative 0 / 0 where a is 0.
  const Value logarithm = log(where(greater(a, zero), a, one));
  return {sum_to(g.dy() * slope, a.shape()),
          sum_to(g.dy() * g.y() * logarithm, b.shape())};
}

// Integers truncate, which is not linear. So the sum of the quotients is
// another number than the quotient of the sum.
std::vector<Value> sum_of_quotients(const BatchContext& g) {
  if (!is_floating(g.call().input(0).dtype)) return {};
  return sum_of_linear_in_first(g);
}

Value call_binary(const OpDef& op, const Operand& a, const Operand& b) {
  return call(op, {a.value, b.value}, {}, a.location);
}

}  // namespace

void register_arithmetic(OpRegistry& ops) {
  add_binary(ops, "add")
      .summary("a + b")
      .traits(kCommutative)
      .reference(elementwise_reference<kAdd>)
      .gradient(add_gradient)
      .batch(batch_elementwise, sum_of_linear)
      .onnx(onnx_elementwise<"Add">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integers(binary_samples(-1, 1, -1, 1)); });
  add_binary(ops, "subtract")
      .summary("a - b")
      .reference(elementwise_reference<kSubtract>)
      .gradient(subtract_gradient)
      .batch(batch_elementwise, sum_of_linear)
      .onnx(onnx_elementwise<"Sub">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integers(binary_samples(-1, 1, -1, 1)); });
  add_binary(ops, "multiply")
      .summary("a * b")
      .traits(kCommutative)
      .reference(elementwise_reference<kMultiply>)
      .gradient(multiply_gradient)
      .batch(batch_elementwise, sum_of_multilinear)
      .onnx(onnx_elementwise<"Mul">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integers(binary_samples(-1, 1, -1, 1)); });
  add_binary(ops, "divide")
      .summary("a / b; integers truncate, and give 0 for b = 0")
      .reference(elementwise_reference<kDivide>)
      .gradient(divide_gradient)
      .batch(batch_elementwise, sum_of_quotients)
      .onnx(onnx_elementwise<"Div">)
      // A division is slower than a sum: it counts as four.
      .cost(elementwise_cost<4>)
      // Divisors stay away from 0, where no central difference is near the
      // slope.
      .samples([] { return with_integers(binary_samples(-1, 1, 0.5, 2)); });
  add_binary(ops, "maximum")
      .summary("the larger of a and b; NaN wins")
      .traits(kCommutative)
      .reference(elementwise_reference<kMaximum>)
      .gradient(maximum_gradient)
      .onnx(onnx_elementwise<"Max">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integers(binary_samples(-1, 1, -1, 1)); });
  add_binary(ops, "minimum")
      .summary("the smaller of a and b; NaN wins")
      .traits(kCommutative)
      .reference(elementwise_reference<kMinimum>)
      .gradient(minimum_gradient)
      .onnx(onnx_elementwise<"Min">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integers(binary_samples(-1, 1, -1, 1)); });
  add_binary(ops, "power")
      .summary("a to the power b")
      .reference(elementwise_reference<kPower>)
      .gradient(power_gradient)
      .onnx(onnx_elementwise<"Pow">)
      // A power counts as the logarithm and the exponential that it takes.
      .cost(elementwise_cost<60>)
      // Bases are positive: the gradient in b needs their logarithm.
      .samples([] { return with_integers(binary_samples(0.3, 2, -2, 2)); });
}

// Each function looks its op up once. The registry does not change once it is
// filled, so the reference stays good, and eager calls hash no name.
Value add(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("add");
  return call_binary(op, a, b);
}

Value subtract(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("subtract");
  return call_binary(op, a, b);
}

Value multiply(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("multiply");
  return call_binary(op, a, b);
}

Value divide(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("divide");
  return call_binary(op, a, b);
}

Value maximum(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("maximum");
  return call_binary(op, a, b);
}

Value minimum(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("minimum");
  return call_binary(op, a, b);
}

Value power(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("power");
  return call_binary(op, a, b);
}

}  // namespace weft
