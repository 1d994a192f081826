// Normalisation of groups of channels. It and its gradient are primitives, so
// that a kernel can keep an example in the cache between its passes.
#include "weft/base/index.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/norm.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/normalization.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

void check_groups(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  if (shape.rank() < 2) {
    throw call.error("takes [batch, …, channels], not {}", to_string(shape));
  }
  const std::int64_t groups = call.attributes.integer("groups");
  // Groups are of equal size (Wu and He, "Group normalization", 2018).
  if (groups < 1 || is_symbolic(shape.back()) || shape.back() % groups != 0) {
    throw call.error("{} groups do not divide {} channels", groups,
                     to_string(shape.back()));
  }
}

std::vector<TensorType> infer_group_norm(const OpCall& call) {
  check_image(call);
  check_groups(call);
  return infer_normalised(call);
}

std::vector<TensorType> infer_group_norm_gradient(const OpCall& call) {
  check_image(call);
  check_groups(call);
  return infer_normalised_gradient(call);
}

// The product of the dims between the examples and the channels.
Dim pixels_of(const Shape& shape) {
  // An image of any number of axes is a list of pixels: no statistic asks where
  // they lie.
  return dim_product(shape.dims().subspan(1, at(shape.rank() - 2)));
}

NormalizedSets group_sets(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  return {.channels = static_cast<std::size_t>(shape.back()),
          .pixels = static_cast<std::size_t>(pixels_of(shape)),
          .groups = static_cast<std::size_t>(call.attributes.integer("groups")),
          .is_centred = true,
          .epsilon = call.attributes.real("epsilon")};
}

void group_norm_reference(const OpCall& call,
                          std::span<const TensorView> inputs,
                          std::span<const TensorView> outputs) {
  normalised_reference(group_sets(call), inputs, outputs);
}

void group_norm_gradient_reference(const OpCall& call,
                                   std::span<const TensorView> inputs,
                                   std::span<const TensorView> outputs) {
  normalised_gradient_reference(group_sets(call), inputs, outputs);
}

// An image as [examples, pixels, channels] in the dtype of statistics.
Value as_pixels(const Value& image, DType dtype) {
  const Shape& shape = image.shape();
  return reshape(to_dtype(image, dtype),
                 {shape[0], pixels_of(shape), shape.back()});
}

// The mean of each group, once for each channel. A group's few channels are too
// short a run for vectors. So all channels are averaged side by side, then
// those of a group, and each channel gets its group's number: passes over the
// image meet one number per channel.
Value group_mean(const Value& v, std::int64_t groups) {
  const Shape& shape = v.shape();
  const Value channels =
      reshape(mean(v, {1}), {shape[0], groups, shape.back() / groups});
  // All channels have equally many pixels, so that the mean of their means is
  // the group's.
  const Value means = mean(channels, {2}, true);
  return reshape(broadcast_to(means, channels.shape()),
                 {shape[0], 1, shape.back()});
}

std::vector<Value> lower_group_norm(const Attributes& attributes,
                                    std::span<const Value> inputs) {
  const std::int64_t groups = attributes.integer("groups");
  const Value x = as_pixels(inputs[0], inputs[1].dtype());
  // As in layer_norm, squares are taken after the mean is off.
  const Value centred = x - group_mean(x, groups);
  const Value factor = inputs[1] * rsqrt(group_mean(square(centred), groups) +
                                         attributes.real("epsilon"));
  const Value y = reshape(centred * factor + inputs[2], inputs[0].shape());
  return {to_dtype(y, inputs[0].dtype())};
}

std::vector<Value> lower_group_norm_gradient(const Attributes& attributes,
                                             std::span<const Value> inputs) {
  const std::int64_t groups = attributes.integer("groups");
  const Value& scale = inputs[1];
  const Value x = as_pixels(inputs[0], scale.dtype());
  const Value dy = as_pixels(inputs[2], scale.dtype());
  const Value centred = x - group_mean(x, groups);
  const Value factor =
      rsqrt(group_mean(square(centred), groups) + attributes.real("epsilon"));
  const Value h = centred * factor;
  const Value g = dy * scale;
  const Value dx =
      (g - group_mean(g, groups) - h * group_mean(g * h, groups)) * factor;
  return {to_dtype(reshape(dx, inputs[0].shape()), inputs[0].dtype()),
          sum_to(dy * h, scale.shape()), sum_to(dy, scale.shape())};
}

Gradients group_norm_rule(const GradientContext& g) {
  static const OpDef& op = op_registry().get("group_norm_gradient");
  return call_all(op, std::array{g.x(0), g.x(1), g.dy()}, g.attributes(), {});
}

// The instances' examples become one set. Scales and shifts that differ are
// applied to what is normalised without any.
std::vector<Value> batch_group_norm(const BatchContext& g) {
  const bool is_shared = !g.is_batched(1) && !g.is_batched(2);
  Value x = stacked(g, 0);
  const Shape shape = x.shape();
  Shape merged(shape.last(shape.rank() - 1));
  // Examples are normalised one by one, so that it does not matter whose they
  // are.
  merged[0] = dim_multiply(shape[0], shape[1]);
  const TensorType& channels = g.call().input(1);
  // What is normalised without scale stays in the wider dtype, so that the
  // result is rounded once, at the end.
  if (!is_shared) x = to_dtype(x, channels.dtype);
  const Value scale = is_shared ? g.x(1) : full(channels, 1);
  const Value shift = is_shared ? g.x(2) : full(channels, 0);
  const std::array inputs{reshape(x, merged), scale, shift};
  const Value y = reshape(call_again(g, inputs)[0], shape);
  if (is_shared) return {y};
  const int rank = g.call().input(0).shape.rank();
  return {to_dtype(y * aligned(g, 1, rank) + aligned(g, 2, rank),
                   g.call().input(0).dtype)};
}

template <int kFlops>
Cost group_norm_cost(const OpCall& call) {
  // Cost counts flops of each element; the memory follows from the types.
  return Cost::of(
      call, kFlops * static_cast<double>(call.input(0).shape.num_elements()));
}

struct GroupNormCase {
  InputSample x;
  std::int64_t groups;

  InputSample channels(double low, double high) const {
    return floats({x.type.shape.back()}, low, high,
                  statistics_dtype(x.type.dtype));
  }
};

// Few channels and many, rows without pixels, one example, and more pixels than
// a chunk has.
std::vector<GroupNormCase> group_norm_cases() {
  return {{floats({2, 3, 2, 6}, 1, 3), 2},
          {floats({3, 4}), 2},
          {floats({2, 5, 4}), 4},
          {floats({2, 4, 6}), 1},
          {floats({0, 4, 6}), 1},
          {floats({1, 19, 9, 70}), 5},
          {floats({1, 20000, 2}), 1},
          {floats({2, 30, 5}, -1, 1, DType::kF64), 1},
          {floats({2, 9, 8}, -1, 1, DType::kBF16), 2},
          {floats({2, 9, 8}, -1, 1, DType::kF16), 2}};
}

std::vector<OpSample> group_norm_samples() {
  std::vector<OpSample> all;
  for (const GroupNormCase& c : group_norm_cases()) {
    all.push_back({{c.x, c.channels(0.5, 2), c.channels(-1, 1)},
                   {{"groups", c.groups}, {"epsilon", 1e-3}}});
  }
  return all;
}

// A set whose numbers nearly meet makes much of their rounding; the epsilon
// keeps that small.
std::vector<OpSample> group_norm_gradient_samples() {
  std::vector<OpSample> all;
  for (const GroupNormCase& c : group_norm_cases()) {
    all.push_back({{c.x, c.channels(0.5, 2),
                    floats(c.x.type.shape, -1, 1, c.x.type.dtype)},
                   {{"groups", c.groups}, {"epsilon", 0.1}}});
  }
  return all;
}

}  // namespace

void register_group_norm(OpRegistry& ops) {
  ops.add("group_norm")
      .summary("normalises groups of channels of each example")
      .signature("(x, scale, shift) -> y")
      .required("groups", std::int64_t{1})
      .attribute("epsilon", 1e-5)
      .infer(infer_group_norm)
      .reference(group_norm_reference)
      .lower(lower_group_norm)
      .gradient(group_norm_rule)
      .batch(batch_group_norm)
      .cost(group_norm_cost<8>)
      .samples(group_norm_samples);
  ops.add("group_norm_gradient")
      .summary("the gradients of group_norm's operands")
      .signature("(x, scale, dy) -> dx, dscale, dshift")
      .required("groups", std::int64_t{1})
      .attribute("epsilon", 1e-5)
      .infer(infer_group_norm_gradient)
      .reference(group_norm_gradient_reference)
      .lower(lower_group_norm_gradient)
      .gradient(lowered_gradient)
      .cost(group_norm_cost<17>)
      .samples(group_norm_gradient_samples);
}

Value group_norm(const Operand& x, const Operand& scale, const Operand& shift,
                 std::int64_t groups, double epsilon) {
  static const OpDef& op = op_registry().get("group_norm");
  return call(op, {x.value, scale.value, shift.value},
              {{"groups", groups}, {"epsilon", epsilon}}, x.location);
}

}  // namespace weft
