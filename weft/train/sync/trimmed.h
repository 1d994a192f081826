// The mean of each entry without its smallest and largest values: what trimmed
// means and the median have in common.
//
// Threads: a pure function.
#pragma once

#include "weft/train/sync/aggregation_rule.h"

namespace weft {

// Leaves out the `trim` smallest and `trim` largest of each entry; 2 * trim
// must be below the number of contributions. NaN counts as larger than all
// else. Cost: n log n comparisons per entry of n contributions.
void trimmed_mean(std::span<const Contribution> arrived, std::size_t trim,
                  std::span<float> result);

}  // namespace weft
