#include "weft/runtime/jit/vmap.h"

#include <algorithm>

#include "weft/batching/batch.h"
#include "weft/compiler/inline_calls.h"

namespace weft {

MappedFunction vmap(const GraphFunction& function,
                    const std::vector<bool>& is_mapped) {
  WEFT_CHECK(is_mapped.size() == function.argument_count());
  if (std::ranges::count(is_mapped, true) == 0) {
    throw Error(ErrorCode::kInvalidArgument, "vmap",
                "no argument has an axis of instances")
        .hint("in_axes says which axis that is; None is for what is shared");
  }
  for (const Hidden& hidden : function.hidden()) {
    if (!hidden.is_assigned) continue;
    throw Error(ErrorCode::kUnsupported, "vmap",
                "the function assigns variable '{}', which the instances share",
                hidden.name)
        .hint("return the value instead");
  }
  const Graph inlined =
      inline_calls(function.graph(), function.function().name());
  // What was captured comes behind the arguments, and is shared.
  std::vector<bool> batched = is_mapped;
  batched.resize(inlined.functions.front().parameters().size(), false);
  BatchedGraph result =
      batch(inlined, inlined.functions.front().name(), batched);
  return {std::make_shared<GraphFunction>(
              std::move(result.graph), std::move(result.entry),
              function.hidden(), ExecutableOptions(), function.dependencies()),
          std::move(result.is_stacked)};
}

}  // namespace weft
