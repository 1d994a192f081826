// Gaussian noise that nobody can foretell who lacks the key: ChaCha20 under it
// (secret_key.h), turned into normals by Box and Muller (1958) in double.
//
// The lowest bits of a floating-point sum say which numbers were added, which
// has undone such noise (Mironov, "On significance of the least significant
// bits for differential privacy", CCS 2012). So sums are computed in double and
// then rounded to a grid, a 4,096th of the deviation or finer, each point of
// which is where 2^30 doubles and more end: what is told is a Gaussian's
// result, rounded. Draws beyond 8.49 deviations, of which there are 2 in 10^17,
// do not occur.
//
// Threads: pure functions; a call takes the compute threads.
#pragma once

#include <cstdint>
#include <span>

#include "weft/privacy/noise/secret_key.h"

namespace weft::privacy {

// values[i] = the sum of it and of a normal of this deviation, on the grid: the
// only way in which noise should meet what it protects. The same key and stream
// give the same noise, and must never protect two things; a call uses as many
// streams as there are thousands of values, from `stream` on. About 10 ns each
// on a core. Throws Error(kInvalidArgument) for a deviation that is not a
// finite number above 0, or is outside of [2^-100, 2^100].
void add_gaussian(std::span<float> values, double deviation,
                  const SecretKey& key, std::uint64_t stream);

// The power of two that results are multiples of: at most a 4,096th of the
// deviation. Below 4,096 deviations all multiples are f32.
double noise_grid(double deviation);

}  // namespace weft::privacy
