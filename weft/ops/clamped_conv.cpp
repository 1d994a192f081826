// clamped_conv2d is conv2d between two clamps, as networks for small machines
// have depthwise convolutions between two activations of "relu6" (Sandler et
// al., "MobileNetV2: Inverted residuals and linear bottlenecks", 2018). A plan
// puts it in the place of all three (compiler/rules/clamp_depthwise.cpp), so
// that neither image is written only to be clamped.
//
// It is a composite: what no kernel takes is computed by clamp and conv2d, and
// so are its gradients. Padding is zero behind the first clamp.
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/convolution.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

std::vector<TensorType> infer_clamped(const OpCall& call) {
  const auto check = [&](const char* low, const char* high) {
    const double least = call.attributes.real(low);
    const double most = call.attributes.real(high);
    // It is false for NaN, too.
    if (least <= most) return;
    throw call.error("{} is {}, {} is {}", low, least, high, most)
        .hint("there is nothing between them");
  };
  check("image_low", "image_high");
  check("low", "high");
  // It is checked as the convolution that it is.
  static const OpDef& conv2d = op_registry().get("conv2d");
  return conv2d.infer_types(
      call.inputs, conv2d.complete(to_attributes(to_options(call.attributes))));
}

// NaN is neither below nor above.
void clamp_all(std::vector<double>& values, double low, double high) {
  for (double& value : values) {
    if (value < low) value = low;
    if (value > high) value = high;
  }
}

void clamped_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  auto x = to_doubles(inputs[0]);
  clamp_all(x, call.attributes.real("image_low"),
            call.attributes.real("image_high"));
  const auto w = to_doubles(inputs[1]);
  const auto bias =
      inputs.size() > 2 ? to_doubles(inputs[2]) : std::vector<double>{};
  std::vector<double> y(static_cast<std::size_t>(outputs[0].size()));
  for_each_product(call, inputs[0].shape(), inputs[1].shape(),
                   outputs[0].shape(),
                   [&](std::size_t i, std::size_t k, std::size_t o) {
                     y[o] += x[i] * w[k];
                   });
  for (std::size_t i = 0; i < y.size() && !bias.empty(); ++i) {
    y[i] += bias[i % bias.size()];
  }
  clamp_all(y, call.attributes.real("low"), call.attributes.real("high"));
  from_doubles(y, outputs[0]);
}

std::vector<Value> lower_clamped(const Attributes& attributes,
                                 std::span<const Value> inputs) {
  static const OpDef& conv2d = op_registry().get("conv2d");
  std::vector<Value> operands(inputs.begin(), inputs.end());
  operands[0] = clamp(operands[0], attributes.real("image_low"),
                      attributes.real("image_high"));
  const Value y =
      call_all(conv2d, operands, to_attributes(to_options(attributes)), {})[0];
  return {clamp(y, attributes.real("low"), attributes.real("high"))};
}

// Depthwise and not, windows over the edge, strides, dilation, and a dtype that
// no kernel takes.
std::vector<OpSample> clamped_samples() {
  const auto bounds = [](Attributes more) {
    more.set("image_low", 0.0);
    more.set("image_high", 0.75);
    more.set("low", -0.5);
    more.set("high", 1.0);
    return more;
  };
  const Attributes padded =
      bounds({{"padding", Integers{1, 1, 1, 1}}, {"groups", std::int64_t{5}}});
  const Attributes strided = bounds({{"padding", Integers{0, 1, 2, 1}},
                                     {"strides", Integers{2, 2}},
                                     {"groups", std::int64_t{4}}});
  const Attributes dilated = bounds({{"padding", Integers{2, 2, 2, 2}},
                                     {"dilation", Integers{2, 2}},
                                     {"groups", std::int64_t{3}}});
  return {
      {{floats({2, 5, 9, 5}), floats({3, 3, 1, 5}), floats({5})}, padded},
      {{floats({1, 8, 9, 4}), floats({3, 3, 1, 4})}, strided},
      {{floats({1, 8, 9, 4}), floats({5, 5, 1, 4}), floats({4})}, strided},
      {{floats({1, 6, 7, 3}), floats({3, 2, 1, 3}), floats({3})}, dilated},
      {{floats({1, 4, 4, 2}), floats({1, 1, 2, 3}), floats({3})}, bounds({})},
      {{floats({0, 4, 4, 2}), floats({1, 1, 2, 3})}, bounds({})},
      {{floats({1, 4, 4, 5}, -1, 1, DType::kF64),
        floats({3, 3, 1, 5}, -1, 1, DType::kF64)},
       padded}};
}

}  // namespace

void register_clamped_conv(OpRegistry& ops) {
  add_convolution_options(ops.add("clamped_conv2d"))
      .summary(
          "clamps NHWC images, convolves them with HWIO weights, adds a bias "
          "and clamps the result")
      .signature("(x, w, bias?) -> y")
      .required("image_low", 0.0)
      .required("image_high", 0.0)
      .required("low", 0.0)
      .required("high", 0.0)
      .infer(infer_clamped)
      .reference(clamped_reference)
      .lower(lower_clamped)
      .gradient(lowered_gradient)
      .cost([](const OpCall& call) {
        return Cost::of(call, convolution_flops(call.outputs[0].shape,
                                                call.input(1).shape));
      })
      .samples(clamped_samples);
}

}  // namespace weft
