// Softmax along an axis, and losses over the last one. Throws
// Error(kInvalidArgument) unless logits are floats with that axis, labels or
// targets have the shape that belongs to them, and a and b have one type.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value softmax(const Operand& x, std::int64_t axis = -1);
Value log_softmax(const Operand& x, std::int64_t axis = -1);
// -log softmax(logits)[label], one per row. Labels i32 or i64, without the
// last axis; one that is no class is an IndexError (graph/index_check.h).
Value cross_entropy(const Operand& logits, const Operand& labels);
// -sum(target * log softmax(logits)), one per row.
Value cross_entropy_dense(const Operand& logits, const Operand& target);
// Mean over all elements of (a - b)^2; a scalar.
Value mean_squared_error(const Operand& a, const Operand& b);

}  // namespace weft
