#include "weft/ops/exponential.h"

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"

namespace weft {
namespace {

// ONNX has no functions of its own here, so that digits near 0 are lost; what
// is made of them, as a softplus, is right to as many digits as 1 has.
void export_expm1(OnnxContext& c) {
  const OnnxOperands x = broadcast_operands(c);
  set_like(
      c, x,
      c.emit("Sub", {c.emit("Exp", x.names), c.number(1, c.type(0).dtype)}));
}

void export_log1p(OnnxContext& c) {
  const OnnxOperands x = broadcast_operands(c);
  set_like(c, x,
           c.emit("Log",
                  {c.emit("Add", {x.names[0], c.number(1, c.type(0).dtype)})}));
}

}  // namespace

void register_exponential(OpRegistry& ops) {
  add_floating_unary(ops, "expm1")
      .summary("exp(x) - 1, to all digits near 0")
      .reference(floating_reference<kExpm1>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * (g.y() + 1.0)};
      })
      .onnx(export_expm1)
      .cost(elementwise_cost<14>)
      .samples([] { return unary_samples(-3, 3); });
  add_floating_unary(ops, "log1p")
      .summary("log(1 + x), to all digits near 0")
      .reference(floating_reference<kLog1p>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() / (g.x(0) + 1.0)};
      })
      .onnx(export_log1p)
      .cost(elementwise_cost<18>)
      .samples([] { return unary_samples(-0.7, 4); });
}

Value expm1(const Operand& x) {
  static const OpDef& op = op_registry().get("expm1");
  return call(op, {x.value}, {}, x.location);
}

Value log1p(const Operand& x) {
  static const OpDef& op = op_registry().get("log1p");
  return call(op, {x.value}, {}, x.location);
}

}  // namespace weft
