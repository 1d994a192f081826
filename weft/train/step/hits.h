// How many guesses are right.
//
// Threads: a pure function.
#pragma once

#include "weft/graph/value.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"

namespace weft {

// f32[]: at how many places of `target` (integers [...]) the largest of the
// `logits` ([..., classes]) is that of the target. Exact up to 2^24.
Value count_hits(const Value& logits, const Value& target);

}  // namespace weft
