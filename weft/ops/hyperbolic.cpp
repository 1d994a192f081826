#include "weft/ops/hyperbolic.h"

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

Value call_inverse(const OpDef& op, const Operand& x) {
  return call(op, {x.value}, {}, x.location);
}

}  // namespace

void register_hyperbolic(OpRegistry& ops) {
  add_floating_unary(ops, "asinh")
      .summary("the number whose hyperbolic sine is x")
      .reference(floating_reference<kAsinh>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * rsqrt(square(g.x(0)) + 1.0)};
      })
      .onnx(onnx_elementwise<"Asinh">)
      .cost(elementwise_cost<40>)
      .samples([] { return unary_samples(-4, 4); });
  add_floating_unary(ops, "acosh")
      .summary("the number, at least 0, whose hyperbolic cosine is x")
      .reference(floating_reference<kAcosh>)
      .gradient([](const GradientContext& g) -> Gradients {
        const Value& x = g.x(0);
        // The factors of x² - 1 do not cancel near 1 nor overflow far from it.
        return {g.dy() * rsqrt(x - 1.0) * rsqrt(x + 1.0)};
      })
      .onnx(onnx_elementwise<"Acosh">)
      .cost(elementwise_cost<40>)
      .samples([] { return unary_samples(1.2, 9); });
  add_floating_unary(ops, "atanh")
      .summary("the number whose hyperbolic tangent is x")
      .reference(floating_reference<kAtanh>)
      .gradient([](const GradientContext& g) -> Gradients {
        const Value& x = g.x(0);
        return {g.dy() / ((1.0 - x) * (x + 1.0))};
      })
      .onnx(onnx_elementwise<"Atanh">)
      .cost(elementwise_cost<36>)
      .samples([] { return unary_samples(-0.9, 0.9); });
}

Value asinh(const Operand& x) {
  static const OpDef& op = op_registry().get("asinh");
  return call_inverse(op, x);
}

Value acosh(const Operand& x) {
  static const OpDef& op = op_registry().get("acosh");
  return call_inverse(op, x);
}

Value atanh(const Operand& x) {
  static const OpDef& op = op_registry().get("atanh");
  return call_inverse(op, x);
}

}  // namespace weft
