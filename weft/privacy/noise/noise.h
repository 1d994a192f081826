// Gaussian noise that nobody can foretell: ChaCha20 under a key that the
// system's generator gives once (libsodium), turned into normals by Box and
// Muller (1958) in double.
//
// The lowest bits of a floating-point sum say which numbers were added, which
// has undone such noise (Mironov, "On significance of the least significant
// bits for differential privacy", CCS 2012). So sums are computed in double and
// then rounded to a grid, a 4,096th of the deviation or finer, each point of
// which is where 2^30 doubles and more end: what is told is a Gaussian's
// result, rounded. Draws beyond 8.49 deviations, of which there are 2 in 10^17,
// do not occur.
//
// Threads: caller synchronises; a call takes the compute threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace weft::privacy {

class NoiseSource {
 public:
  // Throws Error(kUnavailable) where the system has no generator.
  NoiseSource();
  ~NoiseSource();  // forgets the key
  NoiseSource(const NoiseSource&) = delete;
  NoiseSource& operator=(const NoiseSource&) = delete;

  // Noise that anybody can repeat, and which so protects nobody.
  static NoiseSource for_tests(std::uint64_t seed) { return NoiseSource(seed); }

  // values[i] = the sum of it and of a normal of this deviation, on the grid:
  // the only way in which noise should meet what it protects. About 10 ns each
  // on a core. Throws Error(kInvalidArgument) for a deviation that is not a
  // finite number above 0, or is outside of [2^-100, 2^100].
  void add_gaussian(std::span<float> values, double deviation);
  // The same in the place of the values: noise for numbers that are on the
  // grid.
  void fill_gaussian(std::span<float> out, double deviation);

 private:
  explicit NoiseSource(std::uint64_t seed);

  std::array<std::uint8_t, 32> key_;
  std::uint64_t next_chunk_ = 0;
};

// The power of two that results are multiples of: at most a 4,096th of the
// deviation. Below 4,096 deviations all multiples are f32.
double noise_grid(double deviation);

}  // namespace weft::privacy
