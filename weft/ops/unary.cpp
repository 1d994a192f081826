#include "weft/ops/unary.h"

#include <cmath>
#include <numbers>

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"

namespace weft {
namespace {

constexpr double kTwoOverSqrtPi = std::numbers::inv_sqrtpi * 2;
constexpr double kSqrtHalf = std::numbers::sqrt2 / 2;

void clamp_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const double low = call.attributes.real("low");
  const double high = call.attributes.real("high");
  // Bounds are doubles in the graph. In integers they saturate, so that an
  // infinite one is no bound.
  reference_loop(inputs, outputs[0], [=]<class Number>(Number x) -> Number {
    const auto least = saturate<Number>(low);
    const auto most = saturate<Number>(high);
    return x < least ? least : x > most ? most : x;  // NaN stays
  });
}

// Floats that an integer cannot hold saturate, and NaN becomes 0.
void cast_reference(const OpCall&, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const TensorView& x = inputs[0];
  const TensorView& y = outputs[0];
  // Every other conversion is what storing does: integers keep their low bits,
  // and a bool is whether a number differs from 0.
  if (!is_floating(x.dtype()) || !is_integer(y.dtype())) {
    return reference_loop(inputs, y, [](auto value) { return value; });
  }
  dispatch(y.dtype(), [&]<class T>(T) {
    // Casting a float beyond the range is undefined in C++, and differs from
    // machine to machine: the op defines it instead.
    if constexpr (std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < y.size(); ++i) {
        y.as<T>()[i] = saturate<T>(load_as<double>(x, i));
      }
    }
  });
}

std::vector<TensorType> infer_cast(const OpCall& call) {
  return {{call.attributes.get<DType>("dtype"), call.input(0).shape}};
}

std::vector<TensorType> infer_clamp(const OpCall& call) {
  // The comparison is written so that a NaN among the bounds fails it.
  if (!(call.attributes.real("low") <= call.attributes.real("high"))) {
    throw call.error("low must not exceed high");
  }
  return infer_number_unary(call);
}

// The ends count as inside, so a value that stands at one still has a gradient
// to leave it by.
Gradients clamp_gradient(const GradientContext& g) {
  const Value& x = g.x(0);
  const Value is_inside =
      logical_and(greater_equal(x, scalar_like(x, g.attributes().real("low"))),
                  less_equal(x, scalar_like(x, g.attributes().real("high"))));
  return {where(is_inside, g.dy(), scalar_like(g.dy(), 0))};
}

Gradients cast_gradient(const GradientContext& g) {
  // A step function has no slope: nothing flows through an integer.
  if (!is_floating(g.x(0).dtype()) || !is_floating(g.y().dtype())) {
    return {Value()};
  }
  return {cast(g.dy(), g.x(0).dtype())};
}

// Conversions between floats are linear up to rounding; but what becomes wider
// is to be summed in the wider dtype.
std::vector<Value> sum_of_casts(const BatchContext& g) {
  const DType from = g.call().input(0).dtype;
  const DType to = g.call().outputs[0].dtype;
  // Casting the sum would then round, or saturate, what the narrow dtype held
  // of it.
  if (!is_floating(from) || !is_floating(to) || size_of(to) > size_of(from)) {
    return {};
  }
  return sum_of_linear(g);
}

// The slope is Φ(x) + x φ(x), with the normal distribution and its density.
Gradients gelu_gradient(const GradientContext& g) {
  const Value& x = g.x(0);
  // Φ(x) = (1 + erf(x / √2)) / 2.
  const Value distribution = 0.5 * (erf(x * kSqrtHalf) + 1.0);
  // The constant is 1 / √(2π).
  const Value density =
      exp(square(x) * -0.5) * (kTwoOverSqrtPi * kSqrtHalf / 2);
  return {g.dy() * (distribution + x * density)};
}

std::vector<OpSample> clamp_samples() {
  const Attributes unit{{"low", -0.5}, {"high", 0.75}};
  std::vector<OpSample> samples = unary_samples(-2, 2);
  for (auto& sample : samples) sample.attributes = unit;
  samples.push_back({{integers({9}, -9, 9)}, {{"low", -2.0}, {"high", 3.0}}});
  return samples;
}

// Numbers beyond the range of an integer, and between two of them, show how
// each cast saturates and rounds.
std::vector<OpSample> cast_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](InputSample x, DType to) {
    samples.push_back({{std::move(x)}, {{"dtype", to}}});
  };
  for (const DType to : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    for (const DType from :
         {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
      add(floats({5, 7}, -3, 3, from), to);
    }
    add(integers({33}, -100, 100, DType::kI64), to);
    add(integers({33}, -100, 100, DType::kI32), to);
    add(integers({33}, 0, 255, DType::kU8), to);
    add(bools({33}), to);
  }
  for (const DType to : {DType::kI8, DType::kU8, DType::kI16, DType::kI32,
                         DType::kI64, DType::kBool}) {
    add(floats({37}, -400, 400), to);
    add(integers({37}, -400, 400, DType::kI64), to);
    add(bools({3}), to);
  }
  add(floats({0}), DType::kBF16);
  add(floats({}), DType::kI32);
  return samples;
}

Value call_unary(const OpDef& op, const Operand& x) {
  return call(op, {x.value}, {}, x.location);
}

void export_square(OnnxContext& c) {
  const OnnxOperands x = broadcast_operands(c);
  set_like(c, x, c.emit("Mul", {x.names[0], x.names[0]}));
}

void export_clamp(OnnxContext& c) {
  const OnnxOperands x = broadcast_operands(c);
  const DType dtype = c.type(0).dtype;
  set_like(
      c, x,
      c.emit("Clip", {x.names[0], c.number(c.attributes().real("low"), dtype),
                      c.number(c.attributes().real("high"), dtype)}));
}

void export_cast(OnnxContext& c) {
  export_elementwise(c, "Cast", {{"to", c.attributes().get<DType>("dtype")}});
}

}  // namespace

void register_unary(OpRegistry& ops) {
  add_number_unary(ops, "negate")
      .summary("-x")
      .reference(elementwise_reference<kNegate>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {negate(g.dy())};
      })
      .batch(batch_elementwise, sum_of_linear)
      .onnx(onnx_elementwise<"Neg">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integer_vectors(unary_samples(-2, 2)); });
  // Where the slope can be told from y, rules read y and not x (exp, sqrt,
  // rsqrt, tanh, sigmoid, relu): it is at hand, and x need not be kept.
  add_floating_unary(ops, "exp")
      .summary("e to the power x")
      .reference(floating_reference<kExp>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * g.y()};
      })
      .onnx(onnx_elementwise<"Exp">)
      .cost(elementwise_cost<12>)
      .samples([] { return unary_samples(-3, 3); });
  add_floating_unary(ops, "log")
      .summary("natural logarithm")
      .reference(floating_reference<kLog>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() / g.x(0)};
      })
      .onnx(onnx_elementwise<"Log">)
      .cost(elementwise_cost<12>)
      // Operands keep away from the singularity at 0, where central differences
      // fail.
      .samples([] { return unary_samples(0.2, 4); });
  add_floating_unary(ops, "sqrt")
      .summary("square root")
      .reference(floating_reference<kSqrt>)
      .gradient([](const GradientContext& g) -> Gradients {
        // This is 1 / (2 √x).
        return {g.dy() * 0.5 / g.y()};
      })
      .onnx(onnx_elementwise<"Sqrt">)
      .cost(elementwise_cost<6>)
      .samples([] { return unary_samples(0.2, 4); });
  add_floating_unary(ops, "rsqrt")
      .summary("1 / sqrt(x)")
      .reference(floating_reference<kRsqrt>)
      .gradient([](const GradientContext& g) -> Gradients {
        // This is -½ x^(-3/2), and y³ spares the power.
        return {g.dy() * -0.5 * (square(g.y()) * g.y())};
      })
      .onnx(onnx_chain<"Sqrt", "Reciprocal">)
      .cost(elementwise_cost<8>)
      .samples([] { return unary_samples(0.2, 4); });
  add_number_unary(ops, "square")
      .summary("x * x")
      .reference(elementwise_reference<kSquare>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * (2.0 * g.x(0))};
      })
      .onnx(export_square)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integer_vectors(unary_samples(-2, 2)); });
  add_floating_unary(ops, "tanh")
      .summary("hyperbolic tangent")
      .reference(floating_reference<kTanh>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * (1.0 - square(g.y()))};
      })
      .onnx(onnx_elementwise<"Tanh">)
      .cost(elementwise_cost<20>)
      .samples([] { return unary_samples(-3, 3); });
  add_floating_unary(ops, "sigmoid")
      .summary("1 / (1 + exp(-x)), without overflow")
      .reference(floating_reference<kSigmoid>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * (g.y() * (1.0 - g.y()))};
      })
      .onnx(onnx_elementwise<"Sigmoid">)
      .cost(elementwise_cost<16>)
      .samples([] { return unary_samples(-5, 5); });
  add_number_unary(ops, "relu")
      .summary("max(x, 0); NaN stays; the gradient at 0 is 0")
      .reference(elementwise_reference<kRelu>)
      .gradient([](const GradientContext& g) -> Gradients {
        // y > 0 just where x > 0, and a NaN lets nothing through.
        return {where(greater(g.y(), scalar_like(g.y(), 0)), g.dy(),
                      scalar_like(g.dy(), 0))};
      })
      .onnx(onnx_elementwise<"Relu">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integer_vectors(unary_samples(-2, 2)); });
  add_floating_unary(ops, "gelu")
      .summary("x Φ(x), with the error function")
      .reference(floating_reference<kGelu>)
      .gradient(gelu_gradient)
      .onnx(onnx_elementwise<"Gelu">)
      .cost(elementwise_cost<16>)
      .samples([] { return unary_samples(-3, 3); });
  add_floating_unary(ops, "erf")
      .summary("the error function")
      .reference(floating_reference<kErf>)
      .gradient([](const GradientContext& g) -> Gradients {
        return {g.dy() * (kTwoOverSqrtPi * exp(negate(square(g.x(0)))))};
      })
      .onnx(onnx_elementwise<"Erf">)
      .cost(elementwise_cost<14>)
      .samples([] { return unary_samples(-2, 2); });
  add_number_unary(ops, "abs")
      .summary("|x|; the gradient at 0 is 0")
      .reference(elementwise_reference<kAbs>)
      .gradient([](const GradientContext& g) -> Gradients {
        // sign(0) = 0 is what makes the gradient 0 there.
        return {g.dy() * sign(g.x(0))};
      })
      .onnx(onnx_elementwise<"Abs">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integer_vectors(unary_samples(-2, 2)); });
  add_number_unary(ops, "sign")
      .summary("-1, 0 or 1; NaN stays")
      .reference(elementwise_reference<kSign>)
      .traits(kNoGradient)
      .onnx(onnx_elementwise<"Sign">)
      .cost(elementwise_cost<1>)
      .samples([] { return with_integer_vectors(unary_samples(-2, 2)); });
  add_floating_unary(ops, "floor")
      .summary("the largest integer not above x")
      .reference(floating_reference<kFloor>)
      .traits(kNoGradient)
      .onnx(onnx_elementwise<"Floor">)
      .cost(elementwise_cost<1>)
      .samples([] { return unary_samples(-9, 9); });
  ops.add("clamp")
      .summary(
          "min(max(x, low), high); NaN stays; the gradient is 1 at the ends "
          "too")
      .signature("(x) -> y")
      .required("low", 0.0)
      .required("high", 0.0)
      .traits(kElementwise)
      .infer(infer_clamp)
      .reference(clamp_reference)
      .gradient(clamp_gradient)
      .batch(batch_elementwise)
      .onnx(export_clamp)
      .cost(elementwise_cost<2>)
      .samples(clamp_samples);
  ops.add("cast")
      .summary(
          "x in another dtype: float to integer truncates and saturates, NaN "
          "gives 0; integer to integer keeps the low bits")
      .signature("(x) -> y")
      .required("dtype", DType::kF32)
      .traits(kElementwise)
      .infer(infer_cast)
      .reference(cast_reference)
      .gradient(cast_gradient)
      .batch(batch_elementwise, sum_of_casts)
      .onnx(export_cast)
      .cost(elementwise_cost<1>)
      .samples(cast_samples);
}

Value negate(const Operand& x) {
  static const OpDef& op = op_registry().get("negate");
  return call_unary(op, x);
}

Value exp(const Operand& x) {
  static const OpDef& op = op_registry().get("exp");
  return call_unary(op, x);
}

Value log(const Operand& x) {
  static const OpDef& op = op_registry().get("log");
  return call_unary(op, x);
}

Value sqrt(const Operand& x) {
  static const OpDef& op = op_registry().get("sqrt");
  return call_unary(op, x);
}

Value rsqrt(const Operand& x) {
  static const OpDef& op = op_registry().get("rsqrt");
  return call_unary(op, x);
}

Value square(const Operand& x) {
  static const OpDef& op = op_registry().get("square");
  return call_unary(op, x);
}

Value tanh(const Operand& x) {
  static const OpDef& op = op_registry().get("tanh");
  return call_unary(op, x);
}

Value sigmoid(const Operand& x) {
  static const OpDef& op = op_registry().get("sigmoid");
  return call_unary(op, x);
}

Value relu(const Operand& x) {
  static const OpDef& op = op_registry().get("relu");
  return call_unary(op, x);
}

Value gelu(const Operand& x) {
  static const OpDef& op = op_registry().get("gelu");
  return call_unary(op, x);
}

Value erf(const Operand& x) {
  static const OpDef& op = op_registry().get("erf");
  return call_unary(op, x);
}

Value abs(const Operand& x) {
  static const OpDef& op = op_registry().get("abs");
  return call_unary(op, x);
}

Value sign(const Operand& x) {
  static const OpDef& op = op_registry().get("sign");
  return call_unary(op, x);
}

Value floor(const Operand& x) {
  static const OpDef& op = op_registry().get("floor");
  return call_unary(op, x);
}

Value clamp(const Operand& x, double low, double high) {
  static const OpDef& op = op_registry().get("clamp");
  return call(op, {x.value}, {{"low", low}, {"high", high}}, x.location);
}

Value cast(const Operand& x, DType dtype) {
  // Nothing is recorded where nothing changes: layers cast as a matter of
  // course.
  if (x.value->dtype() == dtype) return *x.value;
  static const OpDef& op = op_registry().get("cast");
  return call(op, {x.value}, {{"dtype", dtype}}, x.location);
}

}  // namespace weft
