// Where the indices come from that an op reads: parameters and constants, by
// way of ops that move or repeat elements and leave none out. A plan can look
// at them there before anything runs.
//
// Threads: a pure function.
#pragma once

#include <vector>

#include "weft/graph/function.h"

namespace weft {

// A parameter or a constant that holds the indices into `count` of the axes
// that an op indexes, from axis `first` on.
struct IndexSource {
  ValueId value;
  std::size_t first;
  std::size_t count;
  TensorType type;  // under which it is read, where that is a view
};

// Those of `indices`, which has an index for each of `axes` axes along its last
// one. What is computed in other ways has none.
std::vector<IndexSource> index_sources(const Function& function,
                                       ValueId indices, std::size_t axes);

}  // namespace weft
