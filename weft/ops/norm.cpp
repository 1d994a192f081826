// `moments` computes here, and the normalisations made of it are composites
// whose lowered form is chosen for the fused loops: one pass for the moments,
// one for (x - mean) * s + shift, and their mirror images backwards.
#include "weft/ops/norm.h"

#include "weft/base/index.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/normalization.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

std::vector<TensorType> infer_moments(const OpCall& call) {
  check_image(call);
  return {channel_type(call), channel_type(call)};
}

std::vector<TensorType> infer_batch_norm(const OpCall& call) {
  check_image(call);
  check_channels(call, 1, call.inputs.size());
  return {call.input(0), channel_type(call), channel_type(call)};
}

void moments_reference(const OpCall&, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const auto x = to_doubles(inputs[0]);
  const auto channels = static_cast<std::size_t>(inputs[0].shape().back());
  const double count =
      static_cast<double>(x.size()) / static_cast<double>(channels);
  std::vector<double> mean(channels);
  // There are two passes: the mean of the squares less the square of the mean
  // would lose the digits that count where the mean is large.
  std::vector<double> variance(channels);
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i] / count;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double distance = x[i] - mean[i % channels];
    variance[i % channels] += distance * distance / count;
  }
  from_doubles(mean, outputs[0]);
  from_doubles(variance, outputs[1]);
}

// How many elements each channel has.
Value count_per_channel(const Value& x, DType dtype) {
  const Shape& shape = x.shape();
  return element_count(Shape(shape.first(shape.rank() - 1)), dtype);
}

// dx = dmean / n + dvar * 2 (x - mean) / n. The variance also depends on x by
// way of the mean, but that part is Σ (x - mean) times a factor, and so 0.
Gradients moments_gradient(const GradientContext& g) {
  const Value& x = g.x(0);
  const Value& mean = g.y(0);
  const Value count = count_per_channel(x, mean.dtype());
  Value dx;
  if (g.dy(1).is_defined()) {
    // The factor of each channel is computed first: one product remains for
    // each element.
    dx = (to_dtype(x, mean.dtype()) - mean) * (g.dy(1) * 2.0 / count);
  }
  if (g.dy(0).is_defined()) {
    const Value offset = g.dy(0) / count;
    dx = dx.is_defined() ? dx + offset : broadcast_to(offset, x.shape());
  }
  return {to_dtype(dx, x.dtype())};
}

// Each instance has moments of its own: means over the axes between the batch
// and the channels. They are written with ops, as moments() sums over all axes
// but the last, and the batch is one of those.
std::vector<Value> batch_moments(const BatchContext& g) {
  const Shape& shape = g.call().input(0).shape;
  const Dim elements = dim_product(shape.first(shape.rank() - 1));
  const Value x = to_dtype(reshape(g.x(0), {g.size(), elements, shape.back()}),
                           g.call().outputs[0].dtype);
  const Value centre = mean(x, {1}, /*keep_dims=*/true);
  return {reshape(centre, {g.size(), shape.back()}),
          mean(square(x - centre), {1})};
}

// (x - mean) * scale / sqrt(variance + epsilon) + shift.
Value normalise(const Value& x, const Value& mean, const Value& variance,
                const Value& scale, const Value& shift, double epsilon) {
  // This is one number per channel, so that each element takes a subtraction
  // and a multiply-add.
  const Value factor = scale * rsqrt(variance + epsilon);
  return to_dtype((to_dtype(x, mean.dtype()) - mean) * factor + shift,
                  x.dtype());
}

std::vector<Value> lower_batch_norm(const Attributes& attributes,
                                    std::span<const Value> inputs) {
  // The moments are values of the graph, so that gradients flow through them to
  // x as well.
  const auto [mean, variance] = moments(inputs[0]);
  return {normalise(inputs[0], mean, variance, inputs[1], inputs[2],
                    attributes.real("epsilon")),
          mean, variance};
}

std::vector<Value> lower_batch_norm_infer(const Attributes& attributes,
                                          std::span<const Value> inputs) {
  return {normalise(inputs[0], inputs[3], inputs[4], inputs[1], inputs[2],
                    attributes.real("epsilon"))};
}

// Sum, then square and sum.
Cost moments_cost(const OpCall& call) {
  return Cost::of(
      call, 4.0 * static_cast<double>(call.input(0).shape.num_elements()));
}

Cost norm_cost(const OpCall& call) {
  return Cost::of(
      call, 8.0 * static_cast<double>(call.input(0).shape.num_elements()));
}

// A mean of 10 with a spread of 1 shows whether digits cancel.
std::vector<OpSample> moments_samples() {
  return {{{floats({4, 3})}, {}},
          {{floats({2, 5, 3, 17}, 9, 11)}, {}},
          {{floats({50, 1})}, {}},
          {{floats({1, 6})}, {}},
          {{floats({5, 7, 16}, -1, 1, DType::kBF16)}, {}}};
}

// x, then one operand per channel for each of `bounds`.
std::vector<OpSample> norm_samples(
    const std::vector<std::pair<double, double>>& bounds) {
  std::vector<OpSample> all;
  for (const auto& x : {floats({4, 3}), floats({2, 3, 2, 5}, 1, 3),
                        floats({6, 8}, -1, 1, DType::kBF16)}) {
    OpSample sample{{x}, {{"epsilon", 1e-3}}};
    for (const auto& [low, high] : bounds) {
      sample.inputs.push_back(floats({x.type.shape.back()}, low, high));
    }
    all.push_back(sample);
  }
  return all;
}

}  // namespace

void register_norm(OpRegistry& ops) {
  ops.add("moments")
      .summary("mean and biased variance over all axes but the last")
      .signature("(x) -> mean, variance")
      .infer(infer_moments)
      .reference(moments_reference)
      .gradient(moments_gradient)
      .batch(batch_moments)
      .cost(moments_cost)
      .samples(moments_samples);
  ops.add("batch_norm")
      .summary("normalises each channel by the batch's own moments")
      .signature("(x, scale, shift) -> y, mean, variance")
      .attribute("epsilon", 1e-5)
      .infer(infer_batch_norm)
      .lower(lower_batch_norm)
      .cost(norm_cost)
      .samples([] {
        return norm_samples({{0.5, 2}, {-1, 1}});
      });
  ops.add("batch_norm_infer")
      .summary("normalises each channel by given moments")
      .signature("(x, scale, shift, mean, variance) -> y")
      .attribute("epsilon", 1e-5)
      .infer(infer_normalised)
      .lower(lower_batch_norm_infer)
      .cost(norm_cost)
      .samples([] {
        return norm_samples({{0.5, 2}, {-1, 1}, {-1, 1}, {0.5, 2}});
      });
}

std::pair<Value, Value> moments(const Operand& x) {
  static const OpDef& op = op_registry().get("moments");
  auto result = call_all(op, {x.value, 1}, {}, x.location);
  return {std::move(result[0]), std::move(result[1])};
}

std::array<Value, 3> batch_norm(const Operand& x, const Operand& scale,
                                const Operand& shift, double epsilon) {
  static const OpDef& op = op_registry().get("batch_norm");
  const std::array inputs = {*x.value, *scale.value, *shift.value};
  auto result = call_all(op, inputs, {{"epsilon", epsilon}}, x.location);
  return {std::move(result[0]), std::move(result[1]), std::move(result[2])};
}

Value batch_norm_infer(const Operand& x, const Operand& scale,
                       const Operand& shift, const Operand& mean,
                       const Operand& variance, double epsilon) {
  static const OpDef& op = op_registry().get("batch_norm_infer");
  return call(op,
              {x.value, scale.value, shift.value, mean.value, variance.value},
              {{"epsilon", epsilon}}, x.location);
}

}  // namespace weft
