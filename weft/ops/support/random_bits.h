// How random ops turn Philox words into elements: the reference and the fast
// kernels share it, so that they draw the same numbers.
#pragma once

#include <cmath>

#include "weft/base/philox.h"
#include "weft/graph/op.h"

namespace weft {

// The stream that a call draws from; `key` points at (seed, step).
inline RandomStream random_stream(std::uint32_t number,
                                  const std::int64_t* key) {
  return {static_cast<std::uint64_t>(key[0]), number,
          static_cast<std::uint32_t>(key[1])};
}
inline RandomStream random_stream(const Attributes& attributes,
                                  const std::int64_t* key) {
  return random_stream(static_cast<std::uint32_t>(attributes.integer("stream")),
                       key);
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

// Gumbel's distribution, -log(-log(u)), with u inside of (0, 1): the largest of
// logits + gumbel is drawn with the probability softmax(logits).
inline double gumbel_element(std::uint32_t word) {
  const double u = (static_cast<double>(word) + 0.5) * 0x1p-32;
  return -std::log(-std::log(u));
}

// [0, count) from two words, by the upper half of a product (Lemire, "Fast
// random integer generation in an interval", 2019). Without his rejection no
// number is favoured by more than count / 2^64.
inline std::uint64_t randint_element(std::uint32_t low, std::uint32_t high,
                                     std::uint64_t count) {
  const std::uint64_t word = std::uint64_t{high} << 32 | low;
  __extension__ typedef unsigned __int128 Wide;
  return static_cast<std::uint64_t>(Wide{word} * count >> 64);
}
// How many integers lie in [low, high), which may be more than an i64 holds.
inline std::uint64_t randint_count(const Attributes& attributes) {
  return static_cast<std::uint64_t>(attributes.integer("high")) -
         static_cast<std::uint64_t>(attributes.integer("low"));
}

// The stream that keys are split by. Those of draws are hashes of names, or
// small.
constexpr std::uint32_t kSplitStream = 0xffffffff;

}  // namespace weft
