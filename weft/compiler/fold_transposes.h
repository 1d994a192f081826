// Transpositions that need not be made: one of another is one or none, and a
// product reads a transposed operand where it lies, by its own flag.
//
// Threads: as FunctionBuilder.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/builder.h"

namespace weft {

// The transposition of `x`, a value of `builder`, as at most one of what `x` is
// a transposition of; nothing if it is none.
std::optional<Value> joined_transposes(FunctionBuilder& builder, const Value& x,
                                       const Attributes& attributes);

// Where an operand of a product only has its last two axes transposed, what it
// was before takes its place, and the flag in `attributes` changes. True if
// there is one.
bool fold_transposes(FunctionBuilder& builder, std::vector<Value>& operands,
                     Attributes& attributes);

}  // namespace weft
