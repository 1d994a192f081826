// Normalisation of rows. Both ops and their gradients are primitives, so that a
// kernel can read each row from memory once. The gradients measure the row
// again, while it lies in the cache, instead of keeping two numbers of it.
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/norm.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/normalization.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// A row is a set of its own: one pixel with one group of all its channels
// (support/normalization.h).
template <bool kIsCentred>
NormalizedSets row_sets(const OpCall& call) {
  return {.channels = static_cast<std::size_t>(call.input(0).shape.back()),
          .pixels = 1,
          .groups = 1,
          .is_centred = kIsCentred,
          .epsilon = call.attributes.real("epsilon")};
}

template <bool kIsCentred>
void row_norm_reference(const OpCall& call, std::span<const TensorView> inputs,
                        std::span<const TensorView> outputs) {
  normalised_reference(row_sets<kIsCentred>(call), inputs, outputs);
}

template <bool kIsCentred>
void row_norm_gradient_reference(const OpCall& call,
                                 std::span<const TensorView> inputs,
                                 std::span<const TensorView> outputs) {
  normalised_gradient_reference(row_sets<kIsCentred>(call), inputs, outputs);
}

// h = (x - mean) * factor, in the dtype of statistics.
struct PlainRows {
  Value h, factor;
};

template <bool kIsCentred>
PlainRows plain_rows(const Attributes& attributes, const Value& x,
                     DType dtype) {
  // Ba et al., "Layer normalization", 2016, subtract the mean; Zhang and
  // Sennrich, "Root mean square layer normalization", 2019, do not. The mean is
  // subtracted before squaring, as E[x²] - E[x]² cancels where the mean is far
  // from 0.
  Value centred = to_dtype(x, dtype);
  if (kIsCentred) centred = centred - mean(centred, {-1}, true);
  const Value power = mean(square(centred), {-1}, true);
  const Value factor = rsqrt(power + attributes.real("epsilon"));
  return {centred * factor, factor};
}

template <bool kIsCentred>
std::vector<Value> lower_row_norm(const Attributes& attributes,
                                  std::span<const Value> inputs) {
  const Value& x = inputs[0];
  Value y =
      plain_rows<kIsCentred>(attributes, x, inputs[1].dtype()).h * inputs[1];
  if (kIsCentred) y = y + inputs[2];
  return {to_dtype(y, x.dtype())};
}

template <bool kIsCentred>
std::vector<Value> lower_row_norm_gradient(const Attributes& attributes,
                                           std::span<const Value> inputs) {
  const Value& scale = inputs[1];
  const auto [h, factor] =
      plain_rows<kIsCentred>(attributes, inputs[0], scale.dtype());
  const Value dy = to_dtype(inputs[2], scale.dtype());
  const Value g = dy * scale;
  // h is orthogonal to what normalisation lets through: the part of g along h,
  // and along ones where there is a mean, has no effect.
  Value dx = g - h * mean(g * h, {-1}, true);
  if (kIsCentred) dx = dx - mean(g, {-1}, true);
  // Scale and shift serve all rows, so that their gradients are sums over rows.
  std::vector<Value> gradients{to_dtype(dx * factor, inputs[0].dtype()),
                               sum_to(dy * h, scale.shape())};
  if (kIsCentred) gradients.push_back(sum_to(dy, scale.shape()));
  return gradients;
}

template <bool kIsCentred>
Gradients row_norm_rule(const GradientContext& g) {
  static const OpDef& op = op_registry().get(kIsCentred ? "layer_norm_gradient"
                                                        : "rms_norm_gradient");
  // The gradient is given x: y has lost the mean and the scale.
  return call_all(op, std::array{g.x(0), g.x(1), g.dy()}, g.attributes(), {});
}

// Where the instances share scale and shift, theirs are only more rows.
template <bool kIsCentred>
std::vector<Value> batch_row_norm(const BatchContext& g) {
  std::vector<Value> inputs{stacked(g, 0)};
  const int rank = g.call().input(0).shape.rank();
  bool is_shared = true;
  for (std::size_t i = 1; i < g.input_count(); ++i) {
    inputs.push_back(aligned(g, i, rank));
    is_shared &= !g.is_batched(i);
  }
  // The op takes one scale for all rows. Where scales differ, its parts are
  // written out, whose products broadcast.
  return is_shared ? call_again(g, inputs)
                   : lower_row_norm<kIsCentred>(g.attributes(), inputs);
}

template <int kFlops>
Cost row_norm_cost(const OpCall& call) {
  return Cost::of(
      call, kFlops * static_cast<double>(call.input(0).shape.num_elements()));
}

// A mean of 2 with a spread of 1 shows whether digits cancel; more rows than a
// thread takes at once show whether their sums meet.
std::vector<InputSample> row_samples() {
  return {floats({4, 3}),
          floats({2, 3, 2, 5}, 1, 3),
          floats({7}),
          floats({5, 1}),
          floats({0, 4}),
          floats({70, 19}),
          floats({3, 67}, -1, 1, DType::kF64),
          floats({6, 8}, -1, 1, DType::kBF16),
          floats({2, 40}, -1, 1, DType::kF16)};
}

InputSample row_channels(const InputSample& x, double low, double high) {
  return floats({x.type.shape.back()}, low, high,
                statistics_dtype(x.type.dtype));
}

template <bool kIsCentred>
std::vector<OpSample> row_norm_samples() {
  std::vector<OpSample> all;
  for (const InputSample& x : row_samples()) {
    all.push_back({{x, row_channels(x, 0.5, 2)}, {{"epsilon", 1e-3}}});
    if (kIsCentred) all.back().inputs.push_back(row_channels(x, -1, 1));
  }
  return all;
}

// A row whose numbers nearly meet makes much of their rounding; the epsilon
// keeps that small.
std::vector<OpSample> row_norm_gradient_samples() {
  std::vector<OpSample> all;
  for (const InputSample& x : row_samples()) {
    all.push_back({{x, row_channels(x, 0.5, 2),
                    floats(x.type.shape, -1, 1, x.type.dtype)},
                   {{"epsilon", 0.1}}});
  }
  return all;
}

// It normalises in the dtype of its scales, as ONNX has one for all operands.
// An attribute of ONNX is an f32, which is too few digits for the epsilon of
// f64.
void export_layer_norm(OnnxContext& c) {
  const DType dtype = c.type(0).dtype;
  const DType inner = c.type(1).dtype;
  const double epsilon = c.attributes().real("epsilon");
  std::string x = c.x(0);
  if (dtype != inner) x = c.emit("Cast", {x}, {{"to", inner}});
  std::string y;
  if (inner == DType::kF64) {
    const std::string last = c.list({-1});
    const std::string centred =
        c.emit("Sub", {x, c.emit("ReduceMean", {x, last})});
    const std::string variance =
        c.emit("ReduceMean", {c.emit("Mul", {centred, centred}), last});
    const std::string deviation =
        c.emit("Sqrt", {c.emit("Add", {variance, c.number(epsilon, inner)})});
    const std::string normal = c.emit("Div", {centred, deviation});
    y = c.emit("Add", {c.emit("Mul", {normal, c.x(1)}), c.x(2)});
  } else {
    y = c.emit("LayerNormalization", {x, c.x(1), c.x(2)},
               {{"epsilon", epsilon}});
  }
  if (dtype != inner) y = c.emit("Cast", {y}, {{"to", dtype}});
  c.set(y);
}

}  // namespace

void register_row_norm(OpRegistry& ops) {
  ops.add("layer_norm")
      .summary("normalises each row of the last axis")
      .signature("(x, scale, shift) -> y")
      .attribute("epsilon", 1e-5)
      .infer(infer_normalised)
      .reference(row_norm_reference<true>)
      .lower(lower_row_norm<true>)
      .gradient(row_norm_rule<true>)
      .batch(batch_row_norm<true>)
      .onnx(export_layer_norm)
      .cost(row_norm_cost<8>)
      .samples(row_norm_samples<true>);
  ops.add("layer_norm_gradient")
      .summary("the gradients of layer_norm's operands")
      .signature("(x, scale, dy) -> dx, dscale, dshift")
      .attribute("epsilon", 1e-5)
      .infer(infer_normalised_gradient)
      .reference(row_norm_gradient_reference<true>)
      .lower(lower_row_norm_gradient<true>)
      .gradient(lowered_gradient)
      .cost(row_norm_cost<17>)
      .samples(row_norm_gradient_samples);
  ops.add("rms_norm")
      .summary("divides each row of the last axis by its root mean square")
      .signature("(x, scale) -> y")
      .attribute("epsilon", 1e-5)
      .infer(infer_normalised)
      .reference(row_norm_reference<false>)
      .lower(lower_row_norm<false>)
      .gradient(row_norm_rule<false>)
      .batch(batch_row_norm<false>)
      .cost(row_norm_cost<4>)
      .samples(row_norm_samples<false>);
  ops.add("rms_norm_gradient")
      .summary("the gradients of rms_norm's operands")
      .signature("(x, scale, dy) -> dx, dscale")
      .attribute("epsilon", 1e-5)
      .infer(infer_normalised_gradient)
      .reference(row_norm_gradient_reference<false>)
      .lower(lower_row_norm_gradient<false>)
      .gradient(lowered_gradient)
      .cost(row_norm_cost<11>)
      .samples(row_norm_gradient_samples);
}

Value layer_norm(const Operand& x, const Operand& scale, const Operand& shift,
                 double epsilon) {
  static const OpDef& op = op_registry().get("layer_norm");
  return call(op, {x.value, scale.value, shift.value}, {{"epsilon", epsilon}},
              x.location);
}

Value rms_norm(const Operand& x, const Operand& scale, double epsilon) {
  static const OpDef& op = op_registry().get("rms_norm");
  return call(op, {x.value, scale.value}, {{"epsilon", epsilon}}, x.location);
}

}  // namespace weft
