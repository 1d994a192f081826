// Gives every buffer of a plan its place in one arena. Buffers share bytes
// only if their lifetimes do not meet.
//
// Threads:   pure function.
// Invariant: every offset is a multiple of kAlignment.
// Method:    largest first, each at the lowest offset where it fits (Pisarchyk
//            and Lee, "Efficient memory management for deep neural net
//            inference", 2020, greedy by size).
#pragma once

#include <cstddef>
#include <vector>

#include "weft/tensor/allocator.h"

namespace weft {

// So many bytes, and those up to where the next buffer may begin.
inline std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;  // the step that writes it
  std::size_t last = 0;   // the last step that reads it, inclusive
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // by buffer
  std::size_t arena_bytes = 0;
};

// Takes time quadratic in the number of buffers.
MemoryPlan plan_memory(const std::vector<Lifetime>& buffers);

}  // namespace weft
