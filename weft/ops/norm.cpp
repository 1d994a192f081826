// Moments of channels, which batch norm is made of (batch_norm.cpp).
#include "weft/ops/norm.h"

#include "weft/base/index.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/moments.h"
#include "weft/ops/support/normalization.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

std::vector<TensorType> infer_moments(const OpCall& call) {
  check_image(call);
  return {channel_type(call), channel_type(call)};
}

void moments_reference(const OpCall&, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const auto x = to_doubles(inputs[0]);
  const auto channels = static_cast<std::size_t>(inputs[0].shape().back());
  const double count =
      static_cast<double>(x.size()) / static_cast<double>(channels);
  // Where there are no rows this is NaN, as the mean of nothing is.
  const double none = 0 / count;
  std::vector<double> mean(channels, none);
  // There are two passes: the mean of the squares less the square of the mean
  // would lose the digits that count where the mean is large.
  std::vector<double> variance(channels, none);
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i] / count;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double distance = x[i] - mean[i % channels];
    variance[i % channels] += distance * distance / count;
  }
  from_doubles(mean, outputs[0]);
  from_doubles(variance, outputs[1]);
}

Gradients moments_gradient(const GradientContext& g) {
  return {gradient_of_moments(g.x(0), g.y(0), g.dy(0), g.dy(1))};
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

// Sum, then square and sum.
Cost moments_cost(const OpCall& call) {
  return Cost::of(
      call, 4.0 * static_cast<double>(call.input(0).shape.num_elements()));
}

// A mean of 10 with a spread of 1 shows whether digits cancel.
std::vector<OpSample> moments_samples() {
  return {{{floats({4, 3})}, {}},
          {{floats({2, 5, 3, 17}, 9, 11)}, {}},
          {{floats({50, 1})}, {}},
          {{floats({1, 6})}, {}},
          {{floats({5, 7, 16}, -1, 1, DType::kBF16)}, {}}};
}

// Over all axes but the last, the mean first.
void export_moments(OnnxContext& c) {
  Integers axes;
  for (int axis = 0; axis < c.type(0).shape.rank() - 1; ++axis) {
    axes.push_back(axis);
  }
  const DType dtype = c.call().outputs[0].dtype;
  std::string x = c.x(0);
  if (c.type(0).dtype != dtype) x = c.emit("Cast", {x}, {{"to", dtype}});
  const auto mean_of = [&](const std::string& of, bool keeps) {
    return axes.empty() ? of
                        : c.emit("ReduceMean", {of, c.list(axes)},
                                 {{"keepdims", std::int64_t{keeps}}});
  };
  const std::string centred = c.emit("Sub", {x, mean_of(x, true)});
  c.set(0, mean_of(x, false));
  c.set(1, mean_of(c.emit("Mul", {centred, centred}), false));
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
      .onnx(export_moments)
      .cost(moments_cost)
      .samples(moments_samples);
}

std::pair<Value, Value> moments(const Operand& x) {
  static const OpDef& op = op_registry().get("moments");
  auto result = call_all(op, {x.value, 1}, {}, x.location);
  return {std::move(result[0]), std::move(result[1])};
}

}  // namespace weft
