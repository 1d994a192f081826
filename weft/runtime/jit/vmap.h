// A staged function over many instances at once (weft/batching).
//
// Threads: as GraphFunction.
#pragma once

#include <vector>

#include "weft/runtime/jit/graph_function.h"

namespace weft {

struct MappedFunction {
  GraphFunctionRef function;
  // For each result, whether it has the instances as its leading axis; the
  // others are the same for all of them.
  std::vector<bool> is_stacked;
};

// `function` with a leading axis on the arguments for which `is_mapped` holds;
// all instances share the others, and what the function captured. Under one
// random key all instances draw alike. It may branch, loop and call itself;
// where instances differ in how, batching/control.h says what is run. Throws
// Error(kUnsupported) for a function that assigns variables, and naming the op
// that cannot be batched; Error(kInvalidArgument) where nothing is mapped.
MappedFunction vmap(const GraphFunction& function,
                    const std::vector<bool>& is_mapped);

}  // namespace weft
