// Attention: the sum of values weighted by how well their keys fit a query.
//
// Throws Error(kInvalidArgument) unless the operands are floats of one dtype
// with the same leading axes and widths, for a mask that is not bool or does
// not broadcast, and where the scale would come from a width that is not known.
#pragma once

#include "weft/graph/context.h"

namespace weft {

struct AttentionOptions {
  // Query i looks at keys 0 to i alone.
  bool causal = false;
  // What products of queries and keys are multiplied by; 0 stands for
  // 1/sqrt(width).
  double scale = 0;
};

// softmax(scale query keyᵀ) value (Vaswani et al., 2017), for queries
// [..., queries, width], keys [..., keys, width] and values
// [..., keys, value width]; the leading axes are batches and heads. The matrix
// of weights never exists as a whole, so memory is linear in the lengths.
Value attention(const Operand& query, const Operand& key, const Operand& value,
                const AttentionOptions& options = {});
// The mask is of bool, broadcasts to [..., queries, keys] and is true where the
// query looks at the key. The result of a query that looks at none is 0.
Value attention(const Operand& query, const Operand& key, const Operand& value,
                const Value& mask, const AttentionOptions& options);

}  // namespace weft
