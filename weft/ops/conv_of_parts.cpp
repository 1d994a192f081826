// conv2d_of_parts is conv2d of images beside each other, as a concatenation
// puts them, without the concatenation: the sum of a convolution of each part.
// A plan puts it in the place of both (compiler/rules/convolve_parts.cpp).
//
// It is a composite: what no kernel takes is computed by concat and conv2d, and
// so are its gradients.
#include "weft/base/index.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/join.h"
#include "weft/ops/support/activation.h"
#include "weft/ops/support/convolution.h"
#include "weft/ops/support/convolution_parts.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {

ConvolutionParts::ConvolutionParts(const OpCall& call) {
  const std::int64_t parts = call.attributes.integer("parts");
  const auto operands = static_cast<std::int64_t>(call.inputs.size());
  if (parts < 1 || operands < parts + 1 || operands > parts + 2) {
    throw call.error("{} operands for {} images, weights and a bias or none",
                     operands, parts);
  }
  if (call.attributes.integer("groups") != 1) {
    throw call.error("channels of a group may be in several images")
        .hint("conv2d() of their concat() takes groups");
  }
  count_ = static_cast<std::size_t>(parts);
  has_bias_ = operands == parts + 2;
  weights_ = call.input(count_);
  whole_ = call.input(0);
  for (std::size_t i = 0; i < count_; ++i) {
    const TensorType& part = call.input(i);
    check_image(call, part);
    if (i == 0) continue;
    if (part.dtype != whole_.dtype ||
        Shape(part.shape.first(3)) != Shape(whole_.shape.first(3))) {
      throw call.error("image {} is {}, which does not stand beside {}", i,
                       to_string(part), to_string(call.input(0)));
    }
    whole_.shape[3] = dim_add(whole_.shape[3], part.shape[3]);
  }
}

namespace {

std::vector<TensorType> infer_parts(const OpCall& call) {
  const ConvolutionParts parts(call);
  std::vector<TensorType> inputs = {parts.whole(), parts.weights()};
  if (parts.has_bias()) inputs.push_back(call.inputs.back());
  // It is checked as the convolution that it is.
  static const OpDef& conv2d = op_registry().get("conv2d");
  Attributes attributes = to_attributes(to_options(call.attributes));
  attributes.set("activation", call.attributes.text("activation"));
  return conv2d.infer_types(inputs, conv2d.complete(attributes));
}

void parts_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const ConvolutionParts parts(call);
  const auto w = to_doubles(inputs[parts.index_of_weights()]);
  std::vector<double> y(at(outputs[0].size()));
  // Each image meets its own input channels of the weights.
  Dim first = 0;
  const Shape& weights = parts.weights().shape;
  for (std::size_t i = 0; i < parts.count(); ++i) {
    const auto x = to_doubles(inputs[i]);
    Shape own = weights;
    own[2] = inputs[i].shape()[3];
    for_each_product(
        call, inputs[i].shape(), own, outputs[0].shape(),
        [&](std::size_t from, std::size_t weight, std::size_t to) {
          const std::size_t row = weight / at(own[3]);
          const std::size_t tap = row / at(own[2]);
          const std::size_t channel = at(first) + row % at(own[2]);
          y[to] += x[from] * w[(tap * at(weights[2]) + channel) * at(own[3]) +
                               weight % at(own[3])];
        });
    first += own[2];
  }
  apply_tail(
      call,
      parts.has_bias() ? to_doubles(inputs.back()) : std::vector<double>(), y);
  from_doubles(y, outputs[0]);
}

std::vector<Value> lower_parts(const Attributes& attributes,
                               std::span<const Value> inputs) {
  const auto parts = static_cast<std::size_t>(attributes.integer("parts"));
  std::vector<Value> operands = {concat(inputs.first(parts), 3)};
  operands.insert(operands.end(), inputs.begin() + attributes.integer("parts"),
                  inputs.end());
  static const OpDef& conv2d = op_registry().get("conv2d");
  Attributes all = to_attributes(to_options(attributes));
  all.set("activation", attributes.text("activation"));
  return call_all(conv2d, operands, all, {});
}

// Parts of one size and of others, windows of one pixel and of more, strides,
// and a dtype that no kernel takes.
std::vector<OpSample> parts_samples() {
  const Attributes two = {{"parts", std::int64_t{2}}};
  const Attributes wide = {{"parts", std::int64_t{3}},
                           {"padding", Integers{1, 1, 1, 1}},
                           {"strides", Integers{2, 1}},
                           {"activation", std::string("relu")}};
  return {
      {{floats({2, 5, 4, 16}), floats({2, 5, 4, 16}), floats({1, 1, 32, 8})},
       two},
      {{floats({1, 4, 4, 3}), floats({1, 4, 4, 8}), floats({1, 1, 11, 5}),
        floats({5})},
       two},
      {{floats({2, 6, 5, 4}), floats({2, 6, 5, 1}), floats({2, 6, 5, 7}),
        floats({3, 3, 12, 6}), floats({6})},
       wide},
      {{floats({0, 4, 4, 3}), floats({0, 4, 4, 2}), floats({1, 1, 5, 2})}, two},
      {{floats({1, 3, 3, 2}, -1, 1, DType::kF64),
        floats({1, 3, 3, 2}, -1, 1, DType::kF64),
        floats({3, 3, 4, 2}, -1, 1, DType::kF64)},
       two}};
}

}  // namespace

void register_conv_of_parts(OpRegistry& ops) {
  add_convolution_options(ops.add("conv2d_of_parts"))
      .summary("convolution of NHWC images that lie beside each other")
      .signature("(xs...) -> y")
      .required("parts", std::int64_t{1})
      .attribute("activation", std::string("none"))
      .infer(infer_parts)
      .reference(parts_reference)
      .lower(lower_parts)
      .gradient(lowered_gradient)
      .cost([](const OpCall& call) {
        return Cost::of(
            call, convolution_flops(call.outputs[0].shape,
                                    ConvolutionParts(call).weights().shape));
      })
      .samples(parts_samples);
}

}  // namespace weft
