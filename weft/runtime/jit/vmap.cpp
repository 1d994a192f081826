#include "weft/runtime/jit/vmap.h"

#include <algorithm>

#include "weft/batching/batch.h"
#include "weft/runtime/inline_calls.h"

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
  const Function& body = inlined.functions.front();
  if (has_control(body)) {
    throw Error(ErrorCode::kUnsupported, "vmap",
                "the function branches, loops or calls itself, and instances "
                "could do so differently")
        .hint("where() in place of cond(); or map inside of the loop");
  }
  // What was captured comes behind the arguments, and is shared.
  const std::size_t count = body.parameters().size();
  const auto batched = std::make_unique<bool[]>(count);
  std::ranges::copy(is_mapped, batched.get());
  Batched result = batch(body, {batched.get(), count});
  std::string name = result.function.name();
  return {std::make_shared<GraphFunction>(
              Graph{{std::move(result.function)}}, std::move(name),
              function.hidden(), ExecutableOptions(), function.dependencies()),
          std::move(result.is_stacked)};
}

}  // namespace weft
