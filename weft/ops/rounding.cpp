#include "weft/ops/rounding.h"

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// a - b ⌊a / b⌋, whose quotient is constant almost everywhere.
Gradients remainder_gradient(const GradientContext& g) {
  const Value& a = g.x(0);
  const Value& b = g.x(1);
  return {sum_to(g.dy(), a.shape()),
          sum_to(negate(g.dy() * floor_divide(a, b)), b.shape())};
}

// Integers have a remainder of their own: what it leaves is a multiple.
void export_floor_divide(OnnxContext& c) {
  const OnnxOperands x = broadcast_operands(c);
  const auto& [a, b] = std::tie(x.names[0], x.names[1]);
  if (is_floating(c.type(0).dtype)) {
    return set_like(c, x, c.emit("Floor", {c.emit("Div", {a, b})}));
  }
  const std::string whole = c.emit("Sub", {a, c.emit("Mod", {a, b})});
  set_like(c, x, c.emit("Div", {whole, b}));
}

// ONNX's remainder of floats has the sign of a, like C's. Where that is not the
// sign of b, it lacks one b.
void export_remainder(OnnxContext& c) {
  const OnnxOperands x = broadcast_operands(c);
  const auto& [a, b] = std::tie(x.names[0], x.names[1]);
  const DType dtype = c.type(0).dtype;
  if (!is_floating(dtype)) return set_like(c, x, c.emit("Mod", {a, b}));
  const std::string rest = c.emit("Mod", {a, b}, {{"fmod", std::int64_t{1}}});
  const std::string zero = c.number(0, dtype);
  const std::string differs = c.emit(
      "Less",
      {c.emit("Mul", {c.emit("Sign", {rest}), c.emit("Sign", {b})}), zero});
  set_like(c, x, c.emit("Where", {differs, c.emit("Add", {rest, b}), rest}));
}

}  // namespace

void register_rounding(OpRegistry& ops) {
  add_floating_unary(ops, "ceil")
      .summary("the smallest integer not below x")
      .reference(floating_reference<kCeil>)
      .traits(kNoGradient)
      .onnx(onnx_elementwise<"Ceil">)
      .cost(elementwise_cost<1>)
      .samples([] { return unary_samples(-9, 9); });
  add_floating_unary(ops, "round")
      .summary("the nearest integer; halves go to the even one")
      .reference(floating_reference<kRound>)
      .traits(kNoGradient)
      .onnx(onnx_elementwise<"Round">)
      .cost(elementwise_cost<1>)
      .samples([] { return unary_samples(-9, 9); });
  add_binary(ops, "floor_divide")
      .summary("the largest integer not above a / b; integers give 0 for b = 0")
      .traits(kNoGradient)
      .reference(elementwise_reference<kFloorDivide>)
      .onnx(export_floor_divide)
      .cost(elementwise_cost<30>)
      .samples([] { return with_integers(binary_samples(-4, 4, 0.5, 2)); });
  add_binary(ops, "remainder")
      .summary(
          "a - b floor_divide(a, b), of the sign of b; integers give 0 for b = "
          "0")
      .reference(elementwise_reference<kRemainder>)
      .gradient(remainder_gradient)
      .onnx(export_remainder)
      .cost(elementwise_cost<30>)
      .samples([] { return with_integers(binary_samples(-4, 4, 0.5, 2)); });
}

Value ceil(const Operand& x) {
  static const OpDef& op = op_registry().get("ceil");
  return call(op, {x.value}, {}, x.location);
}

Value round(const Operand& x) {
  static const OpDef& op = op_registry().get("round");
  return call(op, {x.value}, {}, x.location);
}

Value floor_divide(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("floor_divide");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value remainder(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("remainder");
  return call(op, {a.value, b.value}, {}, a.location);
}

}  // namespace weft
