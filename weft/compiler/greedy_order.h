// An order of steps that needs less memory, made one value at a time: whatever
// the graph looks like.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "weft/compiler/order_memory.h"

namespace weft {

// `order` with a value less where the most memory is taken: it is computed
// again before its next reader, together with what this takes that is not there
// then. Of all such values it is the one that costs the least of `seconds` (by
// step) for a byte, among those after which the peak is lower, or as high at
// fewer positions. Nothing if there is none. Takes time in proportion to the
// values alive at the peak and the order.
std::optional<StepOrder> with_lower_peak(const OrderMemory& memory,
                                         const std::vector<double>& seconds,
                                         const StepOrder& order);

}  // namespace weft
