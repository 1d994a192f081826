// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
// A number is a function of (seed, stream, step, index) and of nothing else:
// any thread can compute any element, and a resumed run draws what the
// uninterrupted one would have drawn.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace weft {

using PhiloxBlock = std::array<std::uint32_t, 4>;

// The ten-round bijection on a 128-bit counter under a 64-bit key.
constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0,
               static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1,
               static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

// A sequence of random words addressed by index. Element i is word i % 4 of
// block i / 4; the counter is (block low, block high, stream, step).
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::uint32_t step = 0;

  constexpr PhiloxBlock block(std::uint64_t number) const {
    return philox4x32({static_cast<std::uint32_t>(number),
                       static_cast<std::uint32_t>(number >> 32), stream, step},
                      seed);
  }
  constexpr std::uint32_t word(std::uint64_t index) const {
    return block(index / 4)[index % 4];
  }
};

// [0, 1) with 24 bits: every value is a multiple of 2^-24, so f32 is exact.
constexpr float uniform_from(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

// Two standard normals from two words (Box and Muller, 1958).
inline std::array<float, 2> normal_from(std::uint32_t a, std::uint32_t b) {
  // The logarithm of zero must not come up; in double, the smallest u gives a
  // radius of 6.7.
  const double u = (static_cast<double>(a) + 1.0) * 0x1p-32;  // (0, 1]
  const double angle = static_cast<double>(b) * 0x1p-32 * 6.283185307179586;
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {static_cast<float>(radius * std::cos(angle)),
          static_cast<float>(radius * std::sin(angle))};
}

}  // namespace weft
