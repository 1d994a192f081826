// Where a node only moves whole runs of bytes: which of its results are one run
// of its operand, and which of its operands are one run of its result.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "weft/graph/function.h"

namespace weft {

// A result or an operand, and where it begins on the other side.
struct Run {
  std::size_t index;
  std::size_t offset;  // bytes
};

// The results of a slice, a split, a reshape, … that lie in the node's first
// operand in one run, in the order of their elements. Dims are static.
std::vector<Run> results_in_operand(const Function& function, const Node& node);

// The same for operands in the result of a concatenation: all of them or none.
std::vector<Run> operands_in_result(const Function& function, const Node& node);

}  // namespace weft
