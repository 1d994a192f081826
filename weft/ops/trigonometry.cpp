#include "weft/ops/trigonometry.h"

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

std::vector<TensorType> infer_angle(const OpCall& call) {
  require_floating(call);
  return infer_broadcast(call);
}

// 1 / √(1 - x²), by factors that do not cancel near ±1.
Value slope_of_arc(const Value& x) { return rsqrt((1.0 - x) * (x + 1.0)); }

Gradients atan2_gradient(const GradientContext& g) {
  const Value& a = g.x(0);
  const Value& b = g.x(1);
  // d atan2(a, b) = (b da - a db) / (a² + b²).
  const Value scaled = g.dy() / (square(a) + square(b));
  return {sum_to(scaled * b, a.shape()), sum_to(negate(scaled * a), b.shape())};
}

// Points on the right, whose angles are smooth, and some on the left.
std::vector<OpSample> point_samples() {
  auto samples = binary_samples(-2, 2, 0.4, 2);
  samples.push_back({{floats({37}, 0.1, 2), floats({37}, -2, -0.4)}, {}});
  return samples;
}

Value call_angle(const OpDef& op, const Operand& x) {
  return call(op, {x.value}, {}, x.location);
}

}  // namespace

void register_trigonometry(OpRegistry& ops) {
  add_floating_unary(ops, "sin")
      .summary("sine")
      .reference(floating_reference<kSin>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * cos(g.x(0))};
      })
      .onnx(onnx_elementwise<"Sin">)
      .cost(elementwise_cost<36>)
      .samples([] { return unary_samples(-9, 9); });
  add_floating_unary(ops, "cos")
      .summary("cosine")
      .reference(floating_reference<kCos>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {negate(g.dy() * sin(g.x(0)))};
      })
      .onnx(onnx_elementwise<"Cos">)
      .cost(elementwise_cost<36>)
      .samples([] { return unary_samples(-9, 9); });
  add_floating_unary(ops, "tan")
      .summary("tangent")
      .reference(floating_reference<kTan>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * (square(g.y()) + 1.0)};
      })
      .onnx(onnx_elementwise<"Tan">)
      .cost(elementwise_cost<50>)
      .samples([] { return unary_samples(-1.2, 1.2); });
  add_floating_unary(ops, "asin")
      .summary("the angle in [-π/2, π/2] whose sine is x")
      .reference(floating_reference<kAsin>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * slope_of_arc(g.x(0))};
      })
      .onnx(onnx_elementwise<"Asin">)
      .cost(elementwise_cost<16>)
      .samples([] { return unary_samples(-0.9, 0.9); });
  add_floating_unary(ops, "acos")
      .summary("the angle in [0, π] whose cosine is x")
      .reference(floating_reference<kAcos>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {negate(g.dy() * slope_of_arc(g.x(0)))};
      })
      .onnx(onnx_elementwise<"Acos">)
      .cost(elementwise_cost<18>)
      .samples([] { return unary_samples(-0.9, 0.9); });
  add_floating_unary(ops, "atan")
      .summary("the angle in [-π/2, π/2] whose tangent is x")
      .reference(floating_reference<kAtan>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() / (square(g.x(0)) + 1.0)};
      })
      .onnx(onnx_elementwise<"Atan">)
      .cost(elementwise_cost<16>)
      .samples([] { return unary_samples(-4, 4); });
  add_binary(ops, "atan2")
      .summary("the angle of the point (b, a), in [-π, π]")
      .infer(infer_angle)
      .reference(elementwise_reference<kAtan2>)
      .gradient(atan2_gradient)
      .cost(elementwise_cost<24>)
      .samples(point_samples);
}

Value sin(const Operand& x) {
  static const OpDef& op = op_registry().get("sin");
  return call_angle(op, x);
}

Value cos(const Operand& x) {
  static const OpDef& op = op_registry().get("cos");
  return call_angle(op, x);
}

Value tan(const Operand& x) {
  static const OpDef& op = op_registry().get("tan");
  return call_angle(op, x);
}

Value asin(const Operand& x) {
  static const OpDef& op = op_registry().get("asin");
  return call_angle(op, x);
}

Value acos(const Operand& x) {
  static const OpDef& op = op_registry().get("acos");
  return call_angle(op, x);
}

Value atan(const Operand& x) {
  static const OpDef& op = op_registry().get("atan");
  return call_angle(op, x);
}

Value atan2(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("atan2");
  return call(op, {a.value, b.value}, {}, a.location);
}

}  // namespace weft
