// Random numbers that cost a nanosecond, for decisions that change no result:
// which queue to look into, how long to wait. What must be reproduced from a
// seed alone, whatever the threads do, draws from base/philox.h.
//
// xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number
// generators", ACM TOMS 2021), seeded by SplitMix64 from (seed, thread).
//
// Threads: one generator each.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace weft::concurrent {

class FastRandom {
 public:
  using result_type = std::uint64_t;

  FastRandom(std::uint64_t seed, std::uint64_t thread) {
    std::uint64_t state = seed ^ (0xd1342543de82ef95U * (thread + 1));
    for (std::uint64_t& word : state_) {
      state += 0x9e3779b97f4a7c15U;
      std::uint64_t z = state;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
      word = z ^ (z >> 31U);
    }
  }

  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }

  std::uint64_t operator()() {
    const std::uint64_t result =
        std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in 0 … bound-1; bound is at least 1. Biased by at most
  // bound / 2^32 (Lemire's multiplication without the rejection).
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((*this)() >> 32U) * bound >> 32U);
  }

  // Uniform in [0, 1).
  double unit() { return static_cast<double>((*this)() >> 11U) * 0x1p-53; }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace weft::concurrent
