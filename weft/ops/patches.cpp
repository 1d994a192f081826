// What each window of a convolution sees, side by side: with it a convolution
// is a product of matrices ("im2col").
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/conv.h"
#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/convolution.h"
#include "weft/ops/support/doubles.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// Weights of one output for each group, whose windows are these.
Shape weights_of(const OpCall& call) {
  const Integers& kernel = call.attributes.integers("kernel");
  if (kernel.size() != 2) {
    throw call.error("kernel has {} numbers, for rows and columns",
                     kernel.size());
  }
  const std::int64_t groups = call.attributes.integer("groups");
  const Dim channels = call.input(0).shape[3];
  const auto each =
      groups < 1 ? std::nullopt : dim_divide_exactly(channels, groups);
  if (!each) {
    throw call.error("{} channels do not split into {} groups",
                     to_string(channels), groups);
  }
  return {kernel[0], kernel[1], *each, groups};
}

std::vector<TensorType> infer_patches(const OpCall& call) {
  const TensorType& x = call.input(0);
  check_image(call, x);
  if (x.dtype == DType::kBool) throw call.error("takes numbers");
  const Shape w = weights_of(call);
  const Shape y = convolved_shape(call, x.shape, w);
  return {
      {x.dtype,
       {y[0], y[1], y[2], w[3], dim_multiply(dim_multiply(w[0], w[1]), w[2])}}};
}

void patches_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const auto x = to_doubles(inputs[0]);
  const Shape w = weights_of(call);
  const Shape& y = outputs[0].shape();
  std::vector<double> patches(static_cast<std::size_t>(outputs[0].size()));
  const auto taps = static_cast<std::size_t>(y[4]);
  for_each_product(call, inputs[0].shape(), w, {y[0], y[1], y[2], w[3]},
                   [&](std::size_t i, std::size_t k, std::size_t o) {
                     // Each group has one output, whose number is the group's.
                     patches[o * taps + k / static_cast<std::size_t>(w[3])] =
                         x[i];
                   });
  from_doubles(patches, outputs[0]);
}

// What flows back to a tap goes to the pixels that it was cut from.
Gradients patches_gradient(const GradientContext& g) {
  const Conv2dOptions options = to_options(g.attributes());
  const Integers& kernel = g.attributes().integers("kernel");
  const Integers& padding = options.padding;
  const Shape& x = g.x(0).shape();
  const Shape& y = g.dy().shape();
  if (is_symbolic(x[1]) || is_symbolic(x[2])) {
    throw Error(ErrorCode::kUnsupported, "image_patches",
                "has no gradient for images of unknown size");
  }
  Shape padded = x;
  padded[1] = dim_add(x[1], padding[0] + padding[1]);
  padded[2] = dim_add(x[2], padding[2] + padding[3]);
  const auto taps =
      split(g.dy(),
            Integers(static_cast<std::size_t>(kernel[0] * kernel[1]),
                     y[4] / (kernel[0] * kernel[1])),
            4);
  Value sum;
  for (std::int64_t row = 0; row < kernel[0]; ++row) {
    for (std::int64_t column = 0; column < kernel[1]; ++column) {
      const Value& tap =
          taps[static_cast<std::size_t>(row * kernel[1] + column)];
      const std::int64_t top = row * options.dilation[0];
      const std::int64_t left = column * options.dilation[1];
      const auto end_of = [&](int side, std::int64_t begin) {
        const auto step = options.strides[static_cast<std::size_t>(side)];
        return begin + (y[1 + side] - 1) * step + 1;
      };
      const Value back = unslice(
          reshape(tap, {y[0], y[1], y[2], x[3]}), padded, {0, top, left, 0},
          {kToEnd, end_of(0, top), end_of(1, left), kToEnd},
          {1, options.strides[0], options.strides[1], 1});
      sum = sum.is_defined() ? sum + back : back;
    }
  }
  return {slice(sum, {0, padding[0], padding[2], 0},
                {kToEnd, padding[0] + x[1], padding[2] + x[2], kToEnd})};
}

std::vector<OpSample> patches_samples() {
  std::vector<OpSample> all;
  for (const ConvolutionCase& c : convolution_cases()) {
    Attributes attributes = to_attributes(c.options);
    attributes.set("kernel", Integers{c.w[0], c.w[1]});
    all.push_back({{{{DType::kF32, c.x}}}, attributes});
    all.push_back({{{{DType::kBF16, c.x}}}, attributes});
  }
  return all;
}

}  // namespace

void register_patches(OpRegistry& ops) {
  add_convolution_options(ops.add("image_patches"))
      .summary("the pixels that each window of a convolution sees")
      .signature("(x) -> y")
      .required("kernel", Integers{})
      .infer(infer_patches)
      .reference(patches_reference)
      .gradient(patches_gradient)
      .batch(batch_images<1>, sum_of_linear)
      .cost([](const OpCall& call) { return Cost::of(call, 0); })
      .samples(patches_samples);
}

Value image_patches(const Operand& x, std::int64_t kernel_rows,
                    std::int64_t kernel_columns, const Conv2dOptions& options) {
  static const OpDef& op = op_registry().get("image_patches");
  Attributes attributes = to_attributes(options);
  attributes.set("kernel", Integers{kernel_rows, kernel_columns});
  return call(op, {x.value}, attributes, x.location);
}

}  // namespace weft
