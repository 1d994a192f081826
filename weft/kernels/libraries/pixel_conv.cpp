// A convolution whose window is one pixel is a product: each pixel is a row,
// and NHWC images and HWIO weights lie as its matrices do. oneDNN's product is
// the faster where there are many channels, its convolution where there are
// few: by a tenth either way.
#include <optional>

#include "weft/graph/registry.h"
#include "weft/kernels/libraries/matmul.h"
#include "weft/kernels/onednn/program.h"

namespace weft {
namespace {

// Pixels beside each other, as rows.
TensorType rows_of(const TensorType& image) {
  const Shape& s = image.shape;
  return {image.dtype, {s[0] * s[1] * s[2], s[3]}};
}

std::optional<std::string> pixel_conv_declines(const OpCall& call) {
  for (const auto& type : call.inputs) {
    if (auto reason = onednn::dtype_declined(type.dtype)) return reason;
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  if (call.outputs[0].shape.num_elements() == 0) return "the result is empty";
  const Shape& window = call.input(1).shape;
  if (window[0] * window[1] != 1 || call.attributes.integer("groups") != 1) {
    return "is for windows of one pixel that see all channels";
  }
  if (call.attributes.integers("strides") != Integers{1, 1} ||
      call.attributes.integers("padding") != Integers{0, 0, 0, 0}) {
    return "makes a pixel of each pixel";
  }
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare_pixel_conv(const OpCall& call) {
  static const OpDef& matmul = op_registry().get("matmul");
  std::vector<TensorType> inputs(call.inputs.begin(), call.inputs.end());
  const Shape& window = inputs[1].shape;
  inputs[0] = rows_of(inputs[0]);
  inputs[1].shape = {window[2], window[3]};
  const std::vector<TensorType> outputs{rows_of(call.outputs[0])};
  const Attributes attributes{
      {"transpose_a", false},
      {"transpose_b", false},
      {"activation", call.attributes.text("activation")}};
  std::vector<const Tensor*> known(inputs.size(), nullptr);
  std::optional<Tensor> weights;
  if (const Tensor* given = call.known_input(1)) {
    weights = given->reshape(inputs[1].shape);
    known[1] = &*weights;
  }
  return prepare_library_matmul({matmul, inputs, attributes, outputs, known});
}

}  // namespace

void register_library_pixel_conv(KernelRegistry& kernels) {
  kernels.add({.op = "conv2d",
               .name = "onednn:pixel_product",
               .rank = 9,
               .declines = pixel_conv_declines,
               .prepare = prepare_pixel_conv,
               .competes = true});
}

}  // namespace weft
