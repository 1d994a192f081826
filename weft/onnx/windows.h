// The windows of ONNX's convolutions and pools, for any number of spatial axes.
//
// Threads: pure functions.
#pragma once

#include "weft/onnx/node.h"

namespace weft::onnx {

// Along one spatial axis.
struct Taps {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;  // padding
  std::int64_t after = 0;
  std::int64_t dilation = 1;

  // What a window covers, from its first tap to its last one.
  std::int64_t span() const { return dilation * (kernel - 1) + 1; }
};
using Windows = std::vector<Taps>;

// The windows that a node's attributes describe over spatial axes of these
// sizes, "auto_pad" resolved. With `ceil_mode` the padding behind is as much
// as lets the last window in. Throws Error(kUnsupported) where padding depends
// on a size that is not known, Error(kDataLoss) for lists of other lengths.
Windows windows_of(const OnnxNode& node, const Integers& kernel,
                   std::span<const Dim> sizes);
// The same with the padding that is asked for, without what `ceil_mode` adds.
Windows padded_windows_of(const OnnxNode& node, const Integers& kernel,
                          std::span<const Dim> sizes);
// Kernel, strides, dilations and paddings as they stand, "auto_pad" left to
// the caller.
Windows plain_windows_of(const OnnxNode& node, const Integers& kernel);

// The sizes of the spatial axes of [N, C, spatial…].
std::span<const Dim> spatial_dims(const Shape& image);

}  // namespace weft::onnx
