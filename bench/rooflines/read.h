// A read of memory as fast as a thread can.
#pragma once

#include <cstddef>
#include <numeric>

namespace weft::bench {

// The sum of `count` numbers, but for a rest of less than 128. It adds eight
// lines at a time, so that no addition waits for another.
inline float read_sum(const float* data, std::size_t count) {
  constexpr std::size_t kLanes = 128;
  float sums[kLanes] = {};
  for (std::size_t i = 0; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (std::size_t k = 0; k < kLanes; ++k) sums[k] += data[i + k];
  }
  return std::accumulate(sums, sums + kLanes, 0.f);
}

}  // namespace weft::bench
