// Pools over any number of spatial axes, made of those over two.
//
// Images are [N, spatial…, C], windows have one entry for each spatial axis.
//
// Threads: as Context. Errors: those of the pools.
#pragma once

#include "weft/onnx/windows.h"

namespace weft::onnx {

Value pooled_max(const Value& x, const Windows& windows);
// Means; padding counts as zeros if `counts_padding`, and not at all otherwise.
Value pooled_mean(const Value& x, const Windows& windows, bool counts_padding);

}  // namespace weft::onnx
