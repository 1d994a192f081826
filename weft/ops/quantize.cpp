// All three are written with elementwise ops, so that they fuse with what
// stands around them, as the bias behind a quantized product does.
#include "weft/ops/quantize.h"

#include <limits>

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/rounding.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// --- Inference --------------------------------------------------------------
// Scales (input 1) and zero points (input 2) of integers of `dtype`.
void check_scale(const OpCall& call, DType dtype) {
  const TensorType& x = call.input(0);
  const TensorType& scale = call.input(1);
  if (!is_floating(scale.dtype)) throw call.error("the scale must be a float");
  if (scale.shape.rank() > 1) {
    throw call.error("the scale must be a number or a vector, not {}",
                     to_string(scale.shape));
  }
  if (scale.shape.rank() == 1 && scale.shape[0] != 1) {
    const int axis = normalize_axis(call.attributes.integer("axis"),
                                    x.shape.rank(), call.op.name());
    // This is per-channel quantization: one scale for each filter of a layer,
    // say.
    if (scale.shape[0] != x.shape[axis]) {
      throw call
          .error("{} scales for axis {} of {}", to_string(scale.shape[0]), axis,
                 to_string(x.shape[axis]))
          .hint("give one scale, or one for each position along the axis");
    }
  }
  if (!call.has_input(2)) return;
  const TensorType& zero = call.input(2);
  // The zero point is an integer of the quantized kind, so that a real 0 is
  // held exactly, as padding and ReLU need it (Jacob et al., "Quantization and
  // training of neural networks", 2018, section 2.1).
  if (zero.dtype != dtype || zero.shape != scale.shape) {
    throw call.error("the zero point must be {}, as the scale is in shape",
                     to_string(TensorType{dtype, scale.shape}));
  }
}

DType quantized_dtype(const OpCall& call) {
  const auto dtype = call.attributes.get<DType>("dtype");
  if (dtype == DType::kI8 || dtype == DType::kU8) return dtype;
  throw call.error("quantizes to i8 or u8, not {}", to_string(dtype));
}

template <bool kIsFake>
std::vector<TensorType> infer_quantize(const OpCall& call) {
  const TensorType& x = call.input(0);
  if (!is_floating(x.dtype)) throw call.error("quantizes floats");
  const DType dtype = quantized_dtype(call);
  check_scale(call, dtype);
  return {{kIsFake ? x.dtype : dtype, x.shape}};
}

std::vector<TensorType> infer_dequantize(const OpCall& call) {
  const TensorType& q = call.input(0);
  const bool is_quantized = q.dtype == DType::kI8 || q.dtype == DType::kU8 ||
                            q.dtype == DType::kI16 || q.dtype == DType::kI32;
  if (!is_quantized) {
    throw call.error("dequantizes i8, u8, i16 or i32, not {}",
                     to_string(q.dtype));
  }
  check_scale(call, q.dtype);
  return {{call.input(1).dtype, q.shape}};
}

// --- Meaning ----------------------------------------------------------------
// A scale or zero point as an operand that broadcasts to x.
Value along_axis(const Value& parameter, const Value& x, std::int64_t axis) {
  const int rank = x.shape().rank();
  if (parameter.shape().rank() == 0) return parameter;
  if (parameter.shape()[0] == 1) return reshape(parameter, {});
  Shape shape;
  shape.resize(rank, 1);
  shape[normalize_axis(axis, rank, "quantize")] = parameter.shape()[0];
  return reshape(parameter, shape);
}

// round(x / scale) + zero point, before it becomes an integer: of the dtype of
// the scale, which holds every zero point.
Value on_integers(const Attributes& attributes, std::span<const Value> inputs) {
  const std::int64_t axis = attributes.integer("axis");
  const Value& x = inputs[0];
  const DType dtype = inputs[1].dtype();
  // This divides, as a product with 1 / scale is rounded twice and moves some
  // numbers to another integer.
  Value number = round(cast(x, dtype) / along_axis(inputs[1], x, axis));
  if (inputs.size() < 3) return number;
  return number + cast(along_axis(inputs[2], x, axis), dtype);
}

std::vector<Value> lower_quantize(const Attributes& attributes,
                                  std::span<const Value> inputs) {
  // A cast of floats saturates, and makes 0 of NaN.
  return {
      cast(on_integers(attributes, inputs), attributes.get<DType>("dtype"))};
}

std::vector<Value> lower_dequantize(const Attributes& attributes,
                                    std::span<const Value> inputs) {
  const std::int64_t axis = attributes.integer("axis");
  const Value& q = inputs[0];
  const DType dtype = inputs[1].dtype();
  const Value scale = along_axis(inputs[1], q, axis);
  if (inputs.size() < 3) return {cast(q, dtype) * scale};
  const Value zero = along_axis(inputs[2], q, axis);
  // Floats hold differences of small integers, and i32 those of its own.
  const bool is_wide = q.dtype() == DType::kI32;
  const Value difference =
      // f32 holds integers up to 2^24 only, so that i32 subtracts before it
      // becomes a float; the smaller types would overflow there.
      is_wide ? cast(q - zero, dtype) : cast(q, dtype) - cast(zero, dtype);
  return {difference * scale};
}

std::vector<Value> lower_fake_quantize(const Attributes& attributes,
                                       std::span<const Value> inputs) {
  // Scale and zero point are the same on the way back.
  std::vector<Value> arguments(inputs.begin(), inputs.end());
  arguments[0] = lower_quantize(attributes, inputs)[0];
  return {cast(lower_dequantize(attributes, arguments)[0], inputs[0].dtype())};
}

Gradients fake_quantize_gradient(const GradientContext& g) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < g.input_count(); ++i) inputs.push_back(g.x(i));
  // Rounding has a slope of zero almost everywhere. It is passed straight
  // through (Bengio et al., "Estimating or propagating gradients", 2013), but
  // where the number was clamped: moving x changes nothing there.
  const Value number = on_integers(g.attributes(), inputs);
  const bool is_signed = g.attributes().get<DType>("dtype") == DType::kI8;
  const Value is_inside = logical_and(
      greater_equal(number, scalar_like(number, is_signed ? -128 : 0)),
      less_equal(number, scalar_like(number, is_signed ? 127 : 255)));
  // Scale and zero point get no gradient: they are measured, not learned.
  Gradients gradients(inputs.size());
  gradients[0] = where(is_inside, g.dy(), scalar_like(g.dy(), 0));
  return gradients;
}

// --- Samples ----------------------------------------------------------------
InputSample constant_of(InputSample sample) {
  sample.is_differentiable = false;
  return sample;
}

// There is one scale for all, or one for each place of either axis. What lies
// beyond the range of the dtype must saturate.
std::vector<OpSample> quantize_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](const Shape& x, const Shape& scale, std::int64_t axis,
                       DType dtype, bool has_zero, DType from) {
    OpSample sample{{constant_of(floats(x, -9, 9, from)),
                     constant_of(floats(scale, 0.01, 0.2))},
                    {{"dtype", dtype}, {"axis", axis}}};
    if (has_zero) sample.inputs.push_back(integers(scale, 0, 100, dtype));
    samples.push_back(std::move(sample));
  };
  for (const DType dtype : {DType::kI8, DType::kU8}) {
    add({3, 37}, {}, -1, dtype, false, DType::kF32);
    add({3, 37}, {1}, -1, dtype, true, DType::kF32);
    add({2, 3, 5}, {5}, -1, dtype, true, DType::kF32);
    add({2, 3, 5}, {3}, 1, dtype, false, DType::kF32);
    add({4, 3}, {4}, 0, dtype, true, DType::kBF16);
    add({0, 3}, {3}, 1, dtype, true, DType::kF32);
    add({}, {}, -1, dtype, true, DType::kF32);
  }
  return samples;
}

std::vector<OpSample> dequantize_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](const Shape& q, const Shape& scale, std::int64_t axis,
                       DType dtype, bool has_zero) {
    OpSample sample{{integers(q, 0, 127, dtype), floats(scale, 0.01, 0.2)},
                    {{"axis", axis}}};
    if (has_zero) sample.inputs.push_back(integers(scale, 0, 100, dtype));
    samples.push_back(std::move(sample));
  };
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kI32}) {
    add({3, 37}, {}, -1, dtype, false);
    add({2, 3, 5}, {5}, -1, dtype, true);
    add({2, 3, 5}, {3}, 1, dtype, true);
    add({0, 3}, {1}, -1, dtype, false);
  }
  return samples;
}

// --- Calls ------------------------------------------------------------------
Value call_with(const OpDef& op, const Operand& x, const Operand& scale,
                const Value* zero_point, const Attributes& attributes) {
  std::vector<Value> inputs{*x.value, *scale.value};
  if (zero_point != nullptr) inputs.push_back(*zero_point);
  return std::move(call_all(op, inputs, attributes, x.location).front());
}

Attributes to_attributes(const QuantizeOptions& options) {
  return {{"dtype", options.dtype}, {"axis", options.axis}};
}

Value call_quantize(const Operand& x, const Operand& scale,
                    const Value* zero_point, const QuantizeOptions& options) {
  static const OpDef& op = op_registry().get("quantize");
  return call_with(op, x, scale, zero_point, to_attributes(options));
}

Value call_dequantize(const Operand& q, const Operand& scale,
                      const Value* zero_point, std::int64_t axis) {
  static const OpDef& op = op_registry().get("dequantize");
  return call_with(op, q, scale, zero_point, {{"axis", axis}});
}

Value call_fake_quantize(const Operand& x, const Operand& scale,
                         const Value* zero_point,
                         const QuantizeOptions& options) {
  static const OpDef& op = op_registry().get("fake_quantize");
  return call_with(op, x, scale, zero_point, to_attributes(options));
}

// Scales as ONNX has them: those of one element are scalars.
std::string onnx_scale(OnnxContext& c, std::size_t input) {
  const Shape& shape = c.type(input).shape;
  if (shape != Shape{1}) return c.x(input);
  return c.emit("Squeeze", {c.x(input)});
}

void export_quantize(OnnxContext& c) {
  OnnxContext::Names operands = {c.x(0), onnx_scale(c, 1)};
  Attributes attributes = {{"axis", c.attributes().integer("axis")}};
  if (c.input_count() > 2) {
    operands.push_back(onnx_scale(c, 2));
  } else {
    attributes.set("output_dtype", c.attributes().get<DType>("dtype"));
  }
  if (c.type(0).dtype != c.type(1).dtype) {
    operands[0] = c.emit("Cast", {operands[0]}, {{"to", c.type(1).dtype}});
  }
  c.set(c.emit("QuantizeLinear", operands, attributes));
}

void export_dequantize(OnnxContext& c) {
  OnnxContext::Names operands = {c.x(0), onnx_scale(c, 1)};
  if (c.input_count() > 2) operands.push_back(onnx_scale(c, 2));
  c.set(c.emit("DequantizeLinear", operands,
               {{"axis", c.attributes().integer("axis")}}));
}

}  // namespace

void register_quantize(OpRegistry& ops) {
  ops.add("quantize")
      .summary(
          "round(x / scale) + zero_point as i8 or u8: halves to even, "
          "saturating, NaN gives 0")
      .signature("(x, scale, zero_point?) -> y")
      .attribute("dtype", DType::kI8)
      .attribute("axis", std::int64_t{-1})
      .traits(kNoGradient)
      .infer(infer_quantize<false>)
      .lower(lower_quantize)
      .onnx(export_quantize)
      .cost(elementwise_cost<7>)
      .samples(quantize_samples);
  ops.add("dequantize")
      .summary("(q - zero_point) scale, in the dtype of the scale")
      .signature("(q, scale, zero_point?) -> y")
      .attribute("axis", std::int64_t{-1})
      .infer(infer_dequantize)
      .lower(lower_dequantize)
      .onnx(export_dequantize)
      .cost(elementwise_cost<3>)
      .samples(dequantize_samples);
  ops.add("fake_quantize")
      .summary(
          "what dequantize makes of quantize; the gradient passes straight "
          "through within the range of the integers")
      .signature("(x, scale, zero_point?) -> y")
      .attribute("dtype", DType::kI8)
      .attribute("axis", std::int64_t{-1})
      .infer(infer_quantize<true>)
      .lower(lower_fake_quantize)
      .gradient(fake_quantize_gradient)
      .cost(elementwise_cost<10>)
      .samples(quantize_samples);
}

Value quantize(const Operand& x, const Operand& scale,
               QuantizeOptions options) {
  return call_quantize(x, scale, nullptr, options);
}

Value quantize(const Operand& x, const Operand& scale, const Value& zero_point,
               QuantizeOptions options) {
  return call_quantize(x, scale, &zero_point, options);
}

Value dequantize(const Operand& q, const Operand& scale, std::int64_t axis) {
  return call_dequantize(q, scale, nullptr, axis);
}

Value dequantize(const Operand& q, const Operand& scale,
                 const Value& zero_point, std::int64_t axis) {
  return call_dequantize(q, scale, &zero_point, axis);
}

Value fake_quantize(const Operand& x, const Operand& scale,
                    QuantizeOptions options) {
  return call_fake_quantize(x, scale, nullptr, options);
}

Value fake_quantize(const Operand& x, const Operand& scale,
                    const Value& zero_point, QuantizeOptions options) {
  return call_fake_quantize(x, scale, &zero_point, options);
}

}  // namespace weft
