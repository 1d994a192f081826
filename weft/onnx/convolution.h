// Convolutions over any number of spatial axes, made of those over two.
//
// Images are [N, spatial…, C], weights [kernel…, C / groups, M].
//
// Threads: as Context. Errors: those of conv2d, and Error(kUnsupported) for
// more than three spatial axes or a depth that is not known.
#pragma once

#include "weft/onnx/windows.h"
#include "weft/ops/conv.h"

namespace weft::onnx {

using Convolution = Value (*)(const Operand& x, const Operand& w,
                              const Conv2dOptions& options);

// `convolve` is conv2d or integer_conv2d.
Value convolution(const Value& x, const Value& w, const Windows& windows,
                  std::int64_t groups, Convolution convolve);
// Its transpose, with results of the given sizes along the spatial axes.
Value transposed_convolution(const Value& x, const Value& w,
                             const Windows& windows, std::int64_t groups,
                             std::span<const Dim> sizes);

// [M, C / groups, kernel…] as [kernel…, C / groups, M]. What is known is put in
// order now.
Value kernel_last(const OnnxValue& weights);

}  // namespace weft::onnx
