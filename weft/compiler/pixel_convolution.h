// Convolutions that see one pixel at a time, for rules.
//
// Threads: pure functions.
#pragma once

#include "weft/compiler/rule.h"

namespace weft {

// A kernel of one pixel, at every pixel, with all channels and nothing behind
// it but a bias or none: without that, linear in each pixel's channels.
bool is_pixel_convolution(const MatchedNode& convolution);

// How many pixels images [N, H, W, C] have: N H W.
Dim pixels_of(const TensorType& image);

}  // namespace weft
