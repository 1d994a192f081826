#include "weft/onnx/windows.h"

#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// More than any image has, and small enough to compute with.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 31;

Integers list_of(const OnnxNode& node, const char* name, std::size_t count,
                 std::int64_t otherwise, std::int64_t least) {
  Integers list = node.integers(name, Integers(count, otherwise));
  if (list.size() != count) {
    throw node.damaged("'{}' has {} numbers for {} axes", name, list.size(),
                       count);
  }
  for (const std::int64_t number : list) {
    if (number < least || number > kMostPixels) {
      throw node.damaged("'{}' has {}", name, number);
    }
  }
  return list;
}

std::int64_t known_size(const OnnxNode& node, Dim size) {
  if (!is_symbolic(size)) return size;
  throw node.unsupported(
      "padding or the number of windows depends on the size {}, which is not "
      "known while importing",
      to_string(size));
}

// ceil(size / stride) windows, with the pixel that is left over on one side.
void pad_to_same(const OnnxNode& node, Taps& taps, Dim size, bool is_upper) {
  const std::int64_t known = known_size(node, size);
  const std::int64_t count = (known + taps.stride - 1) / taps.stride;
  const std::int64_t total = std::max<std::int64_t>(
      0, (count - 1) * taps.stride + taps.span() - known);
  taps.before = is_upper ? total / 2 : total - total / 2;
  taps.after = total - taps.before;
}

// Padding behind, so that the last window that begins within the image or the
// padding before it counts.
void pad_for_last(const OnnxNode& node, Taps& taps, Dim size) {
  const std::int64_t known = known_size(node, size);
  const std::int64_t rest = known + taps.before + taps.after - taps.span();
  if (rest < 0) return;  // the pool itself says that no window fits
  std::int64_t count = (rest + taps.stride - 1) / taps.stride + 1;
  if ((count - 1) * taps.stride >= known + taps.before) --count;
  taps.after = std::max(taps.after, (count - 1) * taps.stride + taps.span() -
                                        known - taps.before);
}

}  // namespace

Windows plain_windows_of(const OnnxNode& node, const Integers& kernel) {
  const std::size_t count = kernel.size();
  const Integers strides = list_of(node, "strides", count, 1, 1);
  const Integers dilations = list_of(node, "dilations", count, 1, 1);
  const Integers pads = list_of(node, "pads", 2 * count, 0, 0);
  Windows windows;
  for (std::size_t i = 0; i < count; ++i) {
    if (kernel[i] < 1 || kernel[i] > kMostPixels) {
      throw node.damaged("the kernel has a side of {}", kernel[i]);
    }
    windows.push_back(
        {kernel[i], strides[i], pads[i], pads[count + i], dilations[i]});
  }
  return windows;
}

Windows padded_windows_of(const OnnxNode& node, const Integers& kernel,
                          std::span<const Dim> sizes) {
  if (kernel.size() != sizes.size()) {
    throw node.damaged("a kernel of {} sides for {} axes", kernel.size(),
                       sizes.size());
  }
  Windows windows = plain_windows_of(node, kernel);
  const std::string padding = node.text("auto_pad", "NOTSET");
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (padding == "SAME_UPPER" || padding == "SAME_LOWER") {
      pad_to_same(node, windows[i], sizes[i], padding == "SAME_UPPER");
    } else if (padding == "VALID") {
      windows[i].before = windows[i].after = 0;
    } else if (padding != "NOTSET") {
      throw node.damaged("there is no padding '{}'", padding);
    }
  }
  return windows;
}

Windows windows_of(const OnnxNode& node, const Integers& kernel,
                   std::span<const Dim> sizes) {
  Windows windows = padded_windows_of(node, kernel, sizes);
  if (node.integer("ceil_mode", 0) == 0) return windows;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    pad_for_last(node, windows[i], sizes[i]);
  }
  return windows;
}

std::span<const Dim> spatial_dims(const Shape& image) {
  return image.last(image.rank() - 2);
}

}  // namespace weft::onnx
