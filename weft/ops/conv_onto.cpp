// conv2d_onto is conv2d with another image added to its result, as the sums of
// residual networks are (He et al., "Deep residual learning for image
// recognition", 2016). A plan puts it in the place of both
// (compiler/rules/accumulate_residual.cpp), so that the convolution adds up
// where the image lies, and no second result is written.
//
// It is a composite: what no kernel takes is computed by conv2d and add, and so
// are its gradients.
#include "weft/base/index.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/support/activation.h"
#include "weft/ops/support/convolution.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

std::vector<TensorType> infer_onto(const OpCall& call) {
  // It is checked as the convolution that it is.
  static const OpDef& conv2d = op_registry().get("conv2d");
  Attributes attributes = to_attributes(to_options(call.attributes));
  attributes.set("activation", call.attributes.text("activation"));
  const auto result =
      conv2d.infer_types(call.inputs.subspan(1), conv2d.complete(attributes));
  if (call.input(0) != result[0]) {
    throw call
        .error("the image is {}, and the convolution {}",
               to_string(call.input(0)), to_string(result[0]))
        .hint("only images of one shape and dtype are added");
  }
  return result;
}

void onto_reference(const OpCall& call, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  auto y = to_doubles(inputs[0]);
  const auto x = to_doubles(inputs[1]);
  const auto w = to_doubles(inputs[2]);
  for_each_product(call, inputs[1].shape(), inputs[2].shape(),
                   outputs[0].shape(),
                   [&](std::size_t from, std::size_t weight, std::size_t to) {
                     y[to] += x[from] * w[weight];
                   });
  apply_tail(call,
             inputs.size() > 3 ? to_doubles(inputs[3]) : std::vector<double>(),
             y);
  from_doubles(y, outputs[0]);
}

std::vector<Value> lower_onto(const Attributes& attributes,
                              std::span<const Value> inputs) {
  static const OpDef& conv2d = op_registry().get("conv2d");
  const Value added = call_all(conv2d, {inputs.begin() + 1, inputs.end()},
                               to_attributes(to_options(attributes)), {})[0] +
                      inputs[0];
  return {attributes.text("activation") == "relu" ? relu(added) : added};
}

// Windows of one pixel and of more, strides, groups, with a bias and without,
// and dtypes that no kernel takes.
std::vector<OpSample> onto_samples() {
  const Attributes padded = {{"padding", Integers{1, 1, 1, 1}},
                             {"activation", std::string("relu")}};
  const Attributes strided = {{"padding", Integers{0, 1, 2, 1}},
                              {"strides", Integers{2, 2}},
                              {"groups", std::int64_t{2}}};
  return {
      {{floats({2, 5, 4, 8}), floats({2, 5, 4, 16}), floats({1, 1, 16, 8}),
        floats({8})},
       {}},
      {{floats({2, 6, 5, 7}), floats({2, 6, 5, 3}), floats({3, 3, 3, 7})},
       padded},
      {{floats({1, 4, 5, 6}), floats({1, 8, 8, 4}), floats({3, 3, 2, 6}),
        floats({6})},
       strided},
      {{floats({0, 4, 4, 2}), floats({0, 4, 4, 3}), floats({1, 1, 3, 2})}, {}},
      {{floats({1, 3, 3, 2}, -1, 1, DType::kF64),
        floats({1, 3, 3, 2}, -1, 1, DType::kF64),
        floats({3, 3, 2, 2}, -1, 1, DType::kF64)},
       padded}};
}

}  // namespace

void register_conv_onto(OpRegistry& ops) {
  add_convolution_options(ops.add("conv2d_onto"))
      .summary("convolution of NHWC images, added to another image")
      .signature("(z, x, w, bias?) -> y")
      .attribute("activation", std::string("none"))
      .infer(infer_onto)
      .reference(onto_reference)
      .lower(lower_onto)
      .gradient(lowered_gradient)
      .cost([](const OpCall& call) {
        return Cost::of(call, convolution_flops(call.outputs[0].shape,
                                                call.input(2).shape));
      })
      .samples(onto_samples);
}

}  // namespace weft
