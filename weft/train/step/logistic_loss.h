// The loss of answers that are yes or no.
//
// Threads: a pure function.
#pragma once

#include "weft/graph/value.h"

namespace weft {

// -log of the probability that sigmoid(logits) gives to `targets` (1 or 0, or
// between), elementwise; yes counts `positive_weight` times. Does not overflow,
// and its gradient is exact at 0 too.
Value logistic_loss(const Value& logits, const Value& targets,
                    double positive_weight = 1);

}  // namespace weft
