// What an example costs to compute, in units of a thousand floating-point
// operations, by what the ops of the model say of themselves. It is the same on
// every machine.
//
// Threads: caller synchronises.
#pragma once

#include <string>

#include "weft/data/dataset.h"
#include "weft/train/recipe/recipe.h"

namespace weft::market {

// A training takes three times what the model takes forwards: the pass back is
// two products for each one. At least 1.
std::int64_t units_per_example(const Recipe& recipe,
                               const DataDescription& data,
                               const std::string& task);

}  // namespace weft::market
