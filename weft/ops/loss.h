// Softmax and losses, over the last axis.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value softmax(const Operand& x);
Value log_softmax(const Operand& x);
// -log softmax(logits)[label], one per row. Labels i32 or i64, without the
// last axis.
Value cross_entropy(const Operand& logits, const Operand& labels);
// -sum(target * log softmax(logits)), one per row.
Value cross_entropy_dense(const Operand& logits, const Operand& target);
// Mean over all elements of (a - b)^2; a scalar.
Value mean_squared_error(const Operand& a, const Operand& b);

}  // namespace weft
