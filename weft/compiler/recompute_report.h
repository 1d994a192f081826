// What a plan computes again to need less memory (recompute.h).
//
// Threads: a value type.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

// A step that runs more than once.
struct RepeatedStep {
  std::string name = {};   // "conv2d", "multiply, add, relu"
  std::string layer = {};  // where it was written; may be empty
  std::size_t runs = 0;
  double seconds = 0;  // of the runs after the first, by the cost table
};

struct RecomputeReport {
  std::size_t limit = 0;         // bytes
  std::size_t bytes_before = 0;  // of the arena
  std::size_t bytes_after = 0;
  double seconds = 0;  // that a run takes longer, by the cost table
  // "chain" where the optimum of a chain was taken, or "greedy".
  std::string taken = {};
  std::vector<RepeatedStep> steps = {};  // in order
};

}  // namespace weft
