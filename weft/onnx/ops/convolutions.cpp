// Conv and ConvTranspose.
#include "weft/onnx/convolution.h"
#include "weft/onnx/quantized.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

void check_convolution(const OnnxNode& node) {
  const int rank = node.operand(0).rank();
  if (rank < 3 || node.operand(1).rank() != rank) {
    throw node.damaged("an image of {} axes and weights of {}", rank,
                       node.operand(1).rank());
  }
}

Integers kernel_of(const OnnxNode& node) {
  Integers kernel;
  const Shape weights = node.operand(1).type().shape;
  for (const Dim dim : spatial_dims(weights)) kernel.push_back(dim);
  if (node.integers("kernel_shape", kernel) != kernel) {
    throw node.damaged("'kernel_shape' is not that of the weights");
  }
  return kernel;
}

Value plus_bias(const OnnxNode& node, const Value& y) {
  return node.has(2) ? y + node.input(2) : y;
}

void import_conv(OnnxNode& node) {
  check_convolution(node);
  const Shape image = node.operand(0).type().shape;
  const Windows windows =
      windows_of(node, kernel_of(node), spatial_dims(image));
  const std::int64_t groups = node.integer("group", 1);
  if (const auto y = quantized_convolution(node.operand(0), node.operand(1),
                                           windows, groups)) {
    return node.set(OnnxValue::channels_last(plus_bias(node, *y)));
  }
  const Value y =
      convolution(node.operand(0).last(), kernel_last(node.operand(1)), windows,
                  groups, conv2d);
  node.set(OnnxValue::channels_last(plus_bias(node, y)));
}

std::int64_t known_side(const OnnxNode& node, Dim size) {
  if (!is_symbolic(size)) return size;
  throw node.unsupported("the image has sides that are not known: {}",
                         to_string(size));
}

// Where the result's size is given, padding follows from it.
void pad_for_output(Taps& taps, std::int64_t total, bool more_behind) {
  total = std::max<std::int64_t>(0, total);
  taps.before = more_behind ? total / 2 : total - total / 2;
  taps.after = total - taps.before;
}

void import_conv_transpose(OnnxNode& node) {
  check_convolution(node);
  const Shape image = node.operand(0).type().shape;
  const auto sides = spatial_dims(image);
  Windows windows = plain_windows_of(node, kernel_of(node));
  const Integers more =
      node.integers("output_padding", Integers(windows.size(), 0));
  const Integers given = node.integers("output_shape");
  if (more.size() != windows.size() ||
      (!given.empty() && given.size() != windows.size())) {
    throw node.damaged("output_padding or output_shape does not fit");
  }
  const std::string padding = node.text("auto_pad", "NOTSET");
  const bool is_same = padding.starts_with("SAME");
  Shape sizes;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Taps& taps = windows[i];
    const std::int64_t side = known_side(node, sides[i]);
    const std::int64_t whole = taps.stride * (side - 1) + more[i] + taps.span();
    if (!given.empty() || is_same) {
      const std::int64_t size = given.empty() ? side * taps.stride : given[i];
      pad_for_output(taps, whole - size, padding == "SAME_UPPER");
      sizes.push_back(size);
    } else {
      if (padding == "VALID") taps.before = taps.after = 0;
      sizes.push_back(whole - taps.before - taps.after);
    }
    if (sizes[static_cast<int>(i)] < 1) {
      throw node.damaged("the result would have no pixels");
    }
  }
  const Value y = transposed_convolution(
      node.operand(0).last(), kernel_last(node.operand(1)), windows,
      node.integer("group", 1), sizes.dims());
  node.set(OnnxValue::channels_last(plus_bias(node, y)));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_convolutions(OnnxRegistry& ops) {
  ops.add({.name = "Conv", .import = onnx::import_conv});
  ops.add({.name = "ConvTranspose", .import = onnx::import_conv_transpose});
}

}  // namespace weft
