#include "weft/graph/registry.h"
#include "weft/ops/integer.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/convolution.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/small_integers.h"

namespace weft {
namespace {

std::vector<TensorType> infer_integer_conv2d(const OpCall& call) {
  check_image(call, call.input(0));
  require_small_integers(call);
  // Products of 8-bit integers need 16 bits, and sums of up to 2^15 of them 31.
  return {{DType::kI32,
           convolved_shape(call, call.input(0).shape, call.input(1).shape)}};
}

void integer_conv2d_reference(const OpCall& call,
                              std::span<const TensorView> inputs,
                              std::span<const TensorView> outputs) {
  // Padding is 0 in the integers, which stands for a real 0 only where the zero
  // point is 0.
  const auto x = to_numbers<std::int64_t>(inputs[0]);
  const auto w = to_numbers<std::int64_t>(inputs[1]);
  std::vector<std::int64_t> y(static_cast<std::size_t>(outputs[0].size()));
  for_each_product(call, inputs[0].shape(), inputs[1].shape(),
                   outputs[0].shape(),
                   [&](std::size_t i, std::size_t k, std::size_t o) {
                     y[o] += x[i] * w[k];
                   });
  from_numbers(y, outputs[0]);
}

std::vector<OpSample> integer_conv2d_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](const ConvolutionCase& c, DType dtype) {
    const bool is_signed = dtype == DType::kI8;
    samples.push_back(
        {{integers(c.x, is_signed ? -128 : 0, is_signed ? 127 : 255, dtype),
          integers(c.w, -128, 127, DType::kI8)},
         to_attributes(c.options)});
  };
  std::vector<ConvolutionCase> cases = convolution_cases();
  // More channels than a vector has lanes, and a rest of them.
  cases.push_back({{1, 5, 5, 35}, {3, 3, 35, 50}, {{1, 1}, {1, 1, 1, 1}}});
  cases.push_back({{0, 5, 5, 3}, {3, 3, 3, 4}, {}});
  for (const ConvolutionCase& c : cases) {
    add(c, DType::kI8);
    add(c, DType::kU8);
  }
  return samples;
}

void export_integer_conv2d(OnnxContext& c) {
  c.set_image(c.emit("ConvInteger",
                     {c.image(0), transposed_operand(c, 1, kOnnxKernel)},
                     onnx_windows(c.attributes())));
}

}  // namespace

void register_integer_conv(OpRegistry& ops) {
  add_convolution_options(ops.add("integer_conv2d"))
      .summary(
          "convolution of NHWC images of i8 or u8 with HWIO weights of i8, "
          "summed in i32")
      .signature("(x, w) -> y")
      .traits(kNoGradient)
      .infer(infer_integer_conv2d)
      .reference(integer_conv2d_reference)
      // As with conv2d, instances may differ in images only.
      .batch(batch_images<1>)
      .onnx(export_integer_conv2d)
      .cost([](const OpCall& call) {
        return Cost::of(call, convolution_flops(call.outputs[0].shape,
                                                call.input(1).shape));
      })
      .samples(integer_conv2d_samples);
}

Value integer_conv2d(const Operand& x, const Operand& w,
                     const Conv2dOptions& options) {
  static const OpDef& op = op_registry().get("integer_conv2d");
  return call(op, {x.value, w.value}, to_attributes(options), x.location);
}

}  // namespace weft
