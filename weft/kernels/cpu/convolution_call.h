// What the three ops that convolve have in common, for kernels that take all of
// them: conv2d, conv2d_onto, which adds another image, and conv2d_of_parts,
// whose images lie beside each other in their channels.
//
// Threads: pure functions.
#pragma once

#include <numeric>
#include <optional>
#include <vector>

#include "weft/ops/support/convolution_parts.h"

namespace weft {

// Which input is what.
struct ConvolutionCall {
  std::vector<std::size_t> images;
  std::size_t weights;
  std::optional<std::size_t> bias, added;
  bool is_relu;
};

// The images `first` up to `last`, the weights behind them, and a bias or none.
inline ConvolutionCall convolution_of_images(const OpCall& call,
                                             std::size_t first,
                                             std::size_t last) {
  std::vector<std::size_t> images(last - first);
  std::iota(images.begin(), images.end(), first);
  ConvolutionCall of{.images = std::move(images),
                     .weights = last,
                     .bias = {},
                     .added = {},
                     .is_relu = call.attributes.text("activation") == "relu"};
  if (call.has_input(last + 1)) of.bias = last + 1;
  return of;
}

inline ConvolutionCall convolution(const OpCall& call) {
  return convolution_of_images(call, 0, 1);
}
inline ConvolutionCall convolution_onto(const OpCall& call) {
  ConvolutionCall of = convolution_of_images(call, 1, 2);
  of.added = 0;
  return of;
}
inline ConvolutionCall convolution_of_parts(const OpCall& call) {
  return convolution_of_images(call, 0, ConvolutionParts(call).count());
}

}  // namespace weft
