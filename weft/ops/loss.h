// Softmax and losses, over the last axis.
//
// Throws Error(kInvalidArgument) for operands that are no floats, scalars, and
// labels or targets of another shape. Losses of bf16 and f16 logits are f32
// where labels are given.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value softmax(const Operand& x);
Value log_softmax(const Operand& x);
// -log softmax(logits)[label], one per row. Labels i32 or i64, without the
// last axis; one that is no class is an IndexError (graph/index_check.h).
Value cross_entropy(const Operand& logits, const Operand& labels);
// -sum(target * log softmax(logits)), one per row.
Value cross_entropy_dense(const Operand& logits, const Operand& target);
// Mean over all elements of (a - b)^2; a scalar.
Value mean_squared_error(const Operand& a, const Operand& b);

}  // namespace weft
