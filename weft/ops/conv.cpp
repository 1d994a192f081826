// conv2d is linear in the image and in the weights; its two gradients are the
// transposes. The three are closed under differentiation: the gradient of
// each is written with the other two.
#include "weft/ops/conv.h"

#include <array>

#include "weft/base/index.h"
#include "weft/graph/registry.h"
#include "weft/ops/matmul.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/activation.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/convolution.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

void check_float_image(const OpCall& call, const TensorType& x) {
  check_image(call, x);
  if (!is_floating(x.dtype)) throw call.error("computes in floats only");
}

void check_weight_dtype(const OpCall& call, DType image, DType weight) {
  if (weight == image) return;
  // Mixed precision keeps its weights in f32, and rounds them as they are used.
  if (weight == DType::kF32 && image == DType::kBF16) return;
  throw call
      .error("weights are {}, images {}", to_string(weight), to_string(image))
      .hint("weights have the images' dtype; f32 weights also fit bf16 images");
}

std::vector<TensorType> infer_conv2d(const OpCall& call) {
  const TensorType& x = call.input(0);
  check_float_image(call, x);
  check_weight_dtype(call, x.dtype, call.input(1).dtype);
  const Shape shape = convolved_shape(call, x.shape, call.input(1).shape);
  check_tail(call, shape[3]);
  return {{x.dtype, shape}};
}

void check_result_shape(const OpCall& call, const Shape& dy,
                        const Shape& expected) {
  if (dy != expected) throw call.error("dy must be {}", to_string(expected));
}

std::vector<TensorType> infer_input_gradient(const OpCall& call) {
  const TensorType& dy = call.input(0);
  const TensorType& w = call.input(1);
  // dy does not tell the image's shape: strides drop a remainder, so that
  // several sizes give the same windows. The op is told.
  const TensorType x{dy.dtype, call.attributes.get<Shape>("shape")};
  check_float_image(call, x);
  check_float_image(call, dy);
  check_weight_dtype(call, dy.dtype, w.dtype);
  check_result_shape(call, dy.shape, convolved_shape(call, x.shape, w.shape));
  return {x};
}

std::vector<TensorType> infer_weight_gradient(const OpCall& call) {
  const TensorType& x = call.input(0);
  const TensorType& dy = call.input(1);
  // The flag says what the shape cannot: whether bf16 images had f32 weights.
  const TensorType w{call.attributes.flag("in_f32") ? DType::kF32 : x.dtype,
                     call.attributes.get<Shape>("shape")};
  check_float_image(call, x);
  check_float_image(call, dy);
  if (x.dtype != dy.dtype) throw call.error("operands differ in dtype");
  check_weight_dtype(call, x.dtype, w.dtype);
  check_result_shape(call, dy.shape, convolved_shape(call, x.shape, w.shape));
  return {w};
}

// The weights as the convolution sees them: in the images' precision. Kernels
// multiply bf16 by bf16; a reference with f32 weights would differ from them by
// a rounding of each weight, and so be no measure of their own error.
std::vector<double> rounded_weights(const TensorView& w, DType image) {
  auto values = to_doubles(w);
  if (w.dtype() != image && image == DType::kBF16) {
    for (double& value : values) {
      value = static_cast<float>(bfloat16(static_cast<float>(value)));
    }
  }
  return values;
}

void conv2d_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  const auto x = to_doubles(inputs[0]);
  const auto w = rounded_weights(inputs[1], inputs[0].dtype());
  const auto bias =
      inputs.size() > 2 ? to_doubles(inputs[2]) : std::vector<double>{};
  // Sums are made in double and rounded once, at the end.
  std::vector<double> y(static_cast<std::size_t>(outputs[0].size()));
  // This is y[o] = Σ x[i] w[k].
  for_each_product(call, inputs[0].shape(), inputs[1].shape(),
                   outputs[0].shape(),
                   [&](std::size_t i, std::size_t k, std::size_t o) {
                     y[o] += x[i] * w[k];
                   });
  apply_tail(call, bias, y);
  from_doubles(y, outputs[0]);
}

void reference_input_gradient(const OpCall& call,
                              std::span<const TensorView> inputs,
                              std::span<const TensorView> outputs) {
  const auto dy = to_doubles(inputs[0]);
  const auto w = rounded_weights(inputs[1], inputs[0].dtype());
  // This is dx[i] = Σ dy[o] w[k], over the products that x[i] was part of: the
  // same triples with dy in the place of x. No window has to be turned around.
  std::vector<double> dx(static_cast<std::size_t>(outputs[0].size()));
  for_each_product(call, outputs[0].shape(), inputs[1].shape(),
                   inputs[0].shape(),
                   [&](std::size_t i, std::size_t k, std::size_t o) {
                     dx[i] += dy[o] * w[k];
                   });
  from_doubles(dx, outputs[0]);
}

void reference_weight_gradient(const OpCall& call,
                               std::span<const TensorView> inputs,
                               std::span<const TensorView> outputs) {
  const auto x = to_doubles(inputs[0]);
  const auto dy = to_doubles(inputs[1]);
  // This is dw[k] = Σ x[i] dy[o], over all images and all places of the window.
  std::vector<double> dw(static_cast<std::size_t>(outputs[0].size()));
  for_each_product(call, inputs[0].shape(), outputs[0].shape(),
                   inputs[1].shape(),
                   [&](std::size_t i, std::size_t k, std::size_t o) {
                     dw[k] += x[i] * dy[o];
                   });
  from_doubles(dw, outputs[0]);
}

Gradients conv2d_gradient(const GradientContext& g) {
  const Conv2dOptions options = to_options(g.attributes());
  // dy first passes back through the relu: the rest is linear.
  const Value dy = tail_gradient(g);
  // Steps run in this order: what is of weights can be sent while the image's
  // gradient is computed.
  const Value weights =
      conv2d_weight_gradient(g.x(0), dy, g.x(1).type(), options);
  Gradients gradients = {
      conv2d_input_gradient(dy, g.x(1), g.x(0).shape(), options), weights};
  add_bias_gradient(g, dy, gradients);
  return gradients;
}

// What flows into conv2d_input_gradient's result is an image f, and the result
// is linear in dy and in w. Since
//   ⟨f, convᵀ(dy, w)⟩ = ⟨conv(f, w), dy⟩,
// the gradient of dy is conv(f, w), and that of w is the weight gradient with f
// as its image.
Gradients gradient_of_input_gradient(const GradientContext& g) {
  const Conv2dOptions options = to_options(g.attributes());
  return {conv2d(g.dy(), g.x(1), options),
          conv2d_weight_gradient(g.dy(), g.x(0), g.x(1).type(), options)};
}

// What flows into conv2d_weight_gradient's result is a set of weights f. Since
//   ⟨f, dw(x, dy)⟩ = ⟨conv(x, f), dy⟩,
// the gradient of x is the input gradient with f as weights, and that of dy is
// conv(x, f).
Gradients gradient_of_weight_gradient(const GradientContext& g) {
  const Conv2dOptions options = to_options(g.attributes());
  return {conv2d_input_gradient(g.x(1), g.dy(), g.x(0).shape(), options),
          conv2d(g.x(0), g.dy(), options)};
}

std::vector<Value> sum_of_convolutions(const BatchContext& g) {
  // A relu is not linear, and a bias would be added once for each instance.
  return has_tail(g.call()) ? std::vector<Value>{} : sum_of_multilinear(g);
}

// Each instance's gradient is a product of what its windows see with dy: with
// P the patches of one group, dw = Pᵀ dy.
std::vector<Value> batch_weight_gradient(const BatchContext& g) {
  const Shape& w = g.attributes().get<Shape>("shape");
  const Conv2dOptions options = to_options(g.attributes());
  const auto images = [&](std::size_t input) {
    Shape shape = g.call().input(input).shape;
    shape[0] = dim_multiply(g.size(), shape[0]);
    return reshape(stacked(g, input), shape);
  };
  const Value patches = image_patches(images(0), w[0], w[1], options);
  const Shape& y = g.call().input(1).shape;
  const Dim pixels = dim_multiply(dim_multiply(y[0], y[1]), y[2]);
  const Dim groups = options.groups;
  const Dim taps = patches.shape()[4];
  const Dim outputs = w[3] / groups;
  // The groups come before the pixels, as the dims of products that stand side
  // by side.
  const auto by_group = [&](const Value& value, Dim width) {
    const Value split = reshape(value, {g.size(), pixels, groups, width});
    return groups == 1 ? reshape(split, {g.size(), 1, pixels, width})
                       : transpose(split, {0, 2, 1, 3});
  };
  Value dw = matmul(by_group(patches, taps), by_group(images(1), outputs),
                    {true, false});  // [B, groups, taps, outputs]
  dw = groups == 1 ? dw : transpose(dw, {0, 2, 1, 3});
  if (g.attributes().flag("in_f32")) dw = cast(dw, DType::kF32);
  return {reshape(dw, with_leading(g.size(), w))};
}

// The images of all instances are one set, and their products one sum.
std::vector<Value> sum_of_weight_gradients(const BatchContext& g) {
  const auto images = [&](std::size_t input) {
    Shape shape = g.call().input(input).shape;
    shape[0] = dim_multiply(g.size(), shape[0]);
    return reshape(stacked(g, input), shape);
  };
  return call_again(g, std::array{images(0), images(1)});
}

// One shape will do for the tails, which come after the sums. Weights may stay
// f32 beside an image in bf16.
std::vector<OpSample> conv2d_samples() {
  std::vector<OpSample> all;
  for (const ConvolutionCase& c : convolution_cases()) {
    all.push_back({{{{DType::kF32, c.x}}, {{DType::kF32, c.w}}},
                   to_attributes(c.options)});
  }
  ConvolutionCase c = convolution_cases().front();
  const InputSample bias{{DType::kF32, {c.w[3]}}};
  Attributes with_relu = to_attributes(c.options);
  with_relu.set("activation", std::string("relu"));
  all.push_back({{{{DType::kF32, c.x}}, {{DType::kF32, c.w}}, bias}, {}});
  all.push_back(
      {{{{DType::kF32, c.x}}, {{DType::kF32, c.w}}, bias}, with_relu});
  all.push_back({{{{DType::kBF16, c.x}}, {{DType::kBF16, c.w}}},
                 to_attributes(c.options)});
  all.push_back({{{{DType::kBF16, c.x}}, {{DType::kF32, c.w}}},
                 to_attributes(c.options)});
  return all;
}

// The shape of a case's result, from the op's own inference. Written out here,
// it would be a second definition of how windows are counted.
Shape result_shape(const ConvolutionCase& c) {
  const std::vector<TensorType> inputs = {{DType::kF32, c.x},
                                          {DType::kF32, c.w}};
  const OpDef& op = op_registry().get("conv2d");
  return op.infer_types(inputs, op.complete(to_attributes(c.options)))[0].shape;
}

std::vector<OpSample> samples_input_gradient() {
  std::vector<OpSample> all;
  for (const ConvolutionCase& c : convolution_cases()) {
    Attributes attributes = to_attributes(c.options);
    attributes.set("shape", c.x);
    all.push_back(
        {{{{DType::kF32, result_shape(c)}}, {{DType::kF32, c.w}}}, attributes});
  }
  return all;
}

std::vector<OpSample> samples_weight_gradient() {
  std::vector<OpSample> all;
  for (const ConvolutionCase& c : convolution_cases()) {
    Attributes attributes = to_attributes(c.options);
    attributes.set("shape", c.w);
    all.push_back(
        {{{{DType::kF32, c.x}}, {{DType::kF32, result_shape(c)}}}, attributes});
  }
  return all;
}

void export_conv2d(OnnxContext& c) {
  OnnxContext::Names operands = {c.image(0),
                                 transposed_operand(c, 1, kOnnxKernel)};
  if (c.input_count() > 2) operands.push_back(c.x(2));
  // Mixed precision rounds its weights as they are used.
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (c.type(i).dtype == c.type(0).dtype) continue;
    operands[i] = c.emit("Cast", {operands[i]}, {{"to", c.type(0).dtype}});
  }
  c.set_image(with_onnx_activation(
      c, c.emit("Conv", operands, onnx_windows(c.attributes()))));
}

// What rows and columns are left over behind the last window.
void export_transposed_conv2d(OnnxContext& c) {
  const Shape& image = c.attributes().get<Shape>("shape");
  const Shape& dy = c.type(0).shape;
  const Shape& w = c.type(1).shape;
  const Integers& padding = c.attributes().integers("padding");
  Integers more;
  for (int side = 0; side < 2; ++side) {
    if (is_symbolic(image[1 + side]) || is_symbolic(dy[1 + side])) {
      throw c.unsupported("makes an image of unknown size");
    }
    const std::int64_t stride = c.attributes().integers("strides")[at(side)];
    const std::int64_t span =
        c.attributes().integers("dilation")[at(side)] * (w[side] - 1) + 1;
    more.push_back(image[1 + side] + padding[at(2 * side)] +
                   padding[at(2 * side + 1)] -
                   ((dy[1 + side] - 1) * stride + span));
  }
  Attributes attributes = onnx_windows(c.attributes());
  attributes.set("output_padding", more);
  c.set_image(c.emit("ConvTranspose",
                     {c.image(0), transposed_operand(c, 1, kOnnxKernel)},
                     attributes));
}

}  // namespace

void register_conv(OpRegistry& ops) {
  add_convolution_options(ops.add("conv2d"))
      .summary("convolution of NHWC images with HWIO weights")
      .signature("(x, w, bias?) -> y")
      .attribute("activation", std::string("none"))
      .infer(infer_conv2d)
      .reference(conv2d_reference)
      .gradient(conv2d_gradient)
      // The instances may differ in images only: with weights of their own,
      // each would need a convolution of its own.
      .batch(batch_images<1>, sum_of_convolutions)
      .onnx(export_conv2d)
      .cost([](const OpCall& call) {
        return Cost::of(call, convolution_flops(call.outputs[0].shape,
                                                call.input(1).shape));
      })
      .samples(conv2d_samples);
  add_convolution_options(ops.add("conv2d_input_gradient"))
      .summary("the transpose of conv2d in the image")
      .signature("(dy, w) -> dx")
      .required("shape", Shape())
      .infer(infer_input_gradient)
      .reference(reference_input_gradient)
      .gradient(gradient_of_input_gradient)
      .batch(batch_images<1>, sum_of_multilinear)
      .onnx(export_transposed_conv2d)
      .cost([](const OpCall& call) {
        return Cost::of(
            call, convolution_flops(call.input(0).shape, call.input(1).shape));
      })
      .samples(samples_input_gradient);
  add_convolution_options(ops.add("conv2d_weight_gradient"))
      .summary("the transpose of conv2d in the weights")
      .signature("(x, dy) -> dw")
      .required("shape", Shape())
      .attribute("in_f32", false)
      .infer(infer_weight_gradient)
      .reference(reference_weight_gradient)
      .gradient(gradient_of_weight_gradient)
      .batch(batch_weight_gradient, sum_of_weight_gradients)
      .cost([](const OpCall& call) {
        return Cost::of(call, convolution_flops(call.input(1).shape,
                                                call.outputs[0].shape));
      })
      .samples(samples_weight_gradient);
}

Value conv2d(const Operand& x, const Operand& w, const Conv2dOptions& options) {
  static const OpDef& op = op_registry().get("conv2d");
  return call(op, {x.value, w.value}, to_attributes(options), x.location);
}

Value conv2d_input_gradient(const Operand& dy, const Operand& w,
                            const Shape& x_shape,
                            const Conv2dOptions& options) {
  static const OpDef& op = op_registry().get("conv2d_input_gradient");
  Attributes attributes = to_attributes(options);
  // The shape goes in as an attribute, as dy's does not determine it.
  attributes.set("shape", x_shape);
  return call(op, {dy.value, w.value}, attributes, dy.location);
}

Value conv2d_weight_gradient(const Operand& x, const Operand& dy,
                             const TensorType& w_type,
                             const Conv2dOptions& options) {
  static const OpDef& op = op_registry().get("conv2d_weight_gradient");
  Attributes attributes = to_attributes(options);
  attributes.set("shape", w_type.shape);
  attributes.set(
      "in_f32", w_type.dtype == DType::kF32 && x.value->dtype() != DType::kF32);
  return call(op, {x.value, dy.value}, attributes, x.location);
}

// A window spans dilation (kernel - 1) + 1 pixels, so that many less one in all
// give as many windows as pixels at stride 1.
Integers same_padding(std::int64_t kernel_rows, std::int64_t kernel_columns,
                      std::int64_t dilation) {
  const std::int64_t rows = dilation * (kernel_rows - 1);
  const std::int64_t columns = dilation * (kernel_columns - 1);
  // Where the padding is odd, the pixel more comes behind.
  return {rows / 2, rows - rows / 2, columns / 2, columns - columns / 2};
}

}  // namespace weft
