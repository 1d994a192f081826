// How random ops turn Philox words into elements: the reference and the fast
// kernels share it, so that they draw the same numbers.
#pragma once

#include <cmath>

#include "weft/base/philox.h"
#include "weft/graph/op.h"

namespace weft {

// The stream that a call draws from; `key` points at (seed, step).
inline RandomStream random_stream(const Attributes& attributes,
                                  const std::int64_t* key) {
  return {static_cast<std::uint64_t>(key[0]),
          static_cast<std::uint32_t>(attributes.integer("stream")),
          static_cast<std::uint32_t>(key[1])};
}

// [0, 1) with as many bits as the dtype holds exactly: rounding would reach 1.
template <class T>
T uniform_element(std::uint32_t word) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return T(static_cast<float>(word >> 24) * 0x1p-8f);
  } else if constexpr (std::is_same_v<T, float16>) {
    return T(static_cast<float>(word >> 21) * 0x1p-11f);
  } else {
    return static_cast<T>(uniform_from(word));
  }
}

// A draw is true when word >> 8 is below this: uniform_from(word) < p.
inline std::uint32_t bernoulli_threshold(double probability) {
  return static_cast<std::uint32_t>(std::ceil(probability * 0x1p24));
}
inline bool bernoulli_element(std::uint32_t word, std::uint32_t threshold) {
  return (word >> 8) < threshold;
}

}  // namespace weft
