#include "weft/compiler/dead_nodes.h"

#include <algorithm>

#include "weft/graph/function_copy.h"

namespace weft {

Function eliminate_dead_nodes(Function function) {
  std::vector<bool> is_used(function.value_count(), false);
  const auto use = [&](ValueId id) {
    is_used[static_cast<std::size_t>(id)] = true;
  };
  // Code of the program may do more than compute, so it runs even if nobody
  // reads what it gives.
  const auto is_live = [&](const Node& node) {
    return node.op->has(kHost) ||
           std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) {
                         return is_used[static_cast<std::size_t>(id)];
                       });
  };
  for (const ValueId id : function.results()) use(id);
  for (auto node = function.nodes().rbegin(); node != function.nodes().rend();
       ++node) {
    if (!is_live(*node)) continue;
    for (const ValueId id : node->inputs) use(id);
  }
  if (std::ranges::all_of(function.nodes(), is_live)) return function;
  FunctionCopy copy(function, function.name());
  copy.add_parameters();
  for (const Node& node : function.nodes()) {
    if (is_live(node)) copy.add_node(node);
  }
  return copy.finish();
}

}  // namespace weft
