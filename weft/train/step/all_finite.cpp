#include "weft/train/step/all_finite.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace weft {

bool all_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32) return true;
  // Without their sign, the bits of infinity and NaN are above those of all
  // numbers, and the largest bits are found by vectors.
  std::uint32_t largest = 0;
  for (const float value : tensor.span<float>()) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) << 1);
  }
  return largest <
         std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity())
             << 1;
}

}  // namespace weft
