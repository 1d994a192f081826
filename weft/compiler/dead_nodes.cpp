#include "weft/compiler/dead_nodes.h"

#include <algorithm>
#include <span>

#include "weft/base/index.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// What a node's results are made of: those of a custom gradient are its
// operands, of which seeds and gradients come last.
std::span<const ValueId> made_of(const Node& node) {
  static const OpDef& custom = op_registry().get("custom_gradient");
  if (node.op != &custom) return node.inputs;
  return std::span(node.inputs)
      .first(at(node.attributes.integer("arguments") +
                node.attributes.integer("results")));
}

}  // namespace

std::vector<bool> runs_unread(const Function& function) {
  static const OpDef& seed = op_registry().get("seed_like");
  std::vector<bool> is_of_seeds(function.value_count(), false);
  std::vector<bool> runs;
  for (const Node& node : function.nodes()) {
    const bool waits =
        node.op == &seed || std::ranges::any_of(made_of(node), [&](ValueId id) {
          return is_of_seeds[at(id)];
        });
    for (const ValueId id : node.outputs) is_of_seeds[at(id)] = waits;
    runs.push_back(node.op->has(kHost) && !waits);
  }
  return runs;
}

Function eliminate_dead_nodes(Function function) {
  std::vector<bool> is_used(function.value_count(), false);
  const auto use = [&](ValueId id) { is_used[at(id)] = true; };
  std::vector<bool> is_live = runs_unread(function);
  for (const ValueId id : function.results()) use(id);
  for (std::size_t i = is_live.size(); i-- > 0;) {
    const Node& node = function.nodes()[i];
    is_live[i] = is_live[i] ||
                 std::ranges::any_of(
                     node.outputs, [&](ValueId id) { return is_used[at(id)]; });
    if (is_live[i]) std::ranges::for_each(node.inputs, use);
  }
  if (std::ranges::find(is_live, false) == is_live.end()) return function;
  FunctionCopy copy(function, function.name());
  copy.add_parameters();
  for (std::size_t i = 0; i < is_live.size(); ++i) {
    if (is_live[i]) copy.add_node(function.nodes()[i]);
  }
  return copy.finish();
}

}  // namespace weft
