// Non-maximum suppression.
#pragma once

#include <utility>

#include "weft/graph/context.h"

namespace weft {

// Suppresses all but the best boxes: among boxes [..., n, 4] that overlap by
// more than `threshold` (the area that two share, over that of both), those
// with the best scores [..., n] stay. A box is any two opposite corners: x1,
// y1, x2, y2. Returns the indices of at most `most` boxes, the best first,
// i64[..., most], -1 behind the last one, and how many there are, i64[...].
// Where scores are equal, the lower index goes first. Takes a sort of the n
// scores, and n times `most` comparisons of two boxes.
//
// Throws Error(kInvalidArgument) unless both are floats of one dtype and of
// these shapes, the threshold is in [0, 1], and `most` is at least 1.
std::pair<Value, Value> nms(const Operand& boxes, const Operand& scores,
                            double threshold, std::int64_t most);

}  // namespace weft
