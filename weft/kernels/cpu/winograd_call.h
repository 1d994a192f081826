// Which convolutions Winograd's filtering takes (kernels/simd/winograd.h).
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "weft/graph/op.h"

namespace weft {

// Why it does not take the call of a convolution or of one of its gradients,
// whose weights have the shape `window` (HWIO); nothing if it does.
inline std::optional<std::string> winograd_declines(const OpCall& call,
                                                    const Shape& window) {
  // With fewer channels, transforms would take longer than the products.
  constexpr Dim kLeastChannels = 8;
  for (const TensorType& type : call.inputs) {
    if (type.dtype != DType::kF32) {
      return fmt::format("computes in f32, not in {}", to_string(type.dtype));
    }
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  if (call.outputs[0].shape.num_elements() == 0) return "the result is empty";
  if (call.attributes.integer("groups") != 1) {
    return "is for windows that see all channels";
  }
  // With longer ones, points would be so many or so large that results round
  // much more coarsely.
  constexpr std::array<std::array<Dim, 2>, 6> kWindows = {
      {{3, 3}, {5, 5}, {1, 3}, {3, 1}, {1, 5}, {5, 1}}};
  if (std::ranges::find(kWindows, std::array{window[0], window[1]}) ==
      kWindows.end()) {
    return "is for windows of 3 or 5 along one axis or both";
  }
  if (call.attributes.integers("strides") != Integers{1, 1} ||
      call.attributes.integers("dilation") != Integers{1, 1}) {
    return "takes windows of pixels beside each other, at each pixel";
  }
  if (std::min(window[2], window[3]) < kLeastChannels) {
    return fmt::format("pays from {} channels on", kLeastChannels);
  }
  return std::nullopt;
}

}  // namespace weft
