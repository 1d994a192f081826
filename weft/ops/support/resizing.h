// Says from which pixels a resized image is made: what the references and the
// kernel of resize and of its gradient share.
#pragma once

#include <vector>

#include "weft/graph/op.h"

namespace weft {

struct ResizeTap {
  std::int64_t from;
  double weight;
};
// For each pixel of the result along one axis, what it is a sum of.
using ResizeTaps = std::vector<std::vector<ResizeTap>>;

// Rows and columns of a call of resize, or the transposed ones of one of
// resize_gradient.
struct Resizing {
  ResizeTaps rows, columns;
};
Resizing resizing_of(const OpCall& call);

}  // namespace weft
