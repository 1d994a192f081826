#include "weft/compiler/frozen.h"

#include <algorithm>

#include "weft/compiler/dead_nodes.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/phases.h"

namespace weft {
namespace {

// Whether what a node computes depends on sizes that only a run tells: as an
// operand, or as an attribute alone.
bool depends_on_sizes(const Function& function, const Node& node) {
  return std::ranges::any_of(node.attributes,
                             [](const Attributes::Entry& each) {
                               const auto* shape =
                                   std::get_if<Shape>(&each.second);
                               return shape != nullptr && !shape->is_static();
                             }) ||
         std::ranges::any_of(node.outputs, [&](ValueId id) {
           return !function.type(id).shape.is_static();
         });
}

bool may_be_frozen(const Function& function, const Node& node) {
  const OpDef& op = *node.op;
  return !op.has(kRandom) && !op.has(kCollective) && !op.has(kControl) &&
         !op.has(kHost) && !leaves_activation(op) &&
         !depends_on_sizes(function, node);
}

}  // namespace

// Constants alone stay where loops carry them inside.
std::vector<bool> frozen_values(const Function& function,
                                const std::vector<bool>& is_frozen) {
  std::vector<bool> frozen(function.value_count());
  std::vector<bool> constant(function.value_count());
  for (std::size_t i = 0; i < is_frozen.size(); ++i) {
    frozen[static_cast<std::size_t>(function.parameters()[i])] = is_frozen[i];
  }
  for (const Node& node : function.nodes()) {
    bool is_any = false;
    bool are_all = may_be_frozen(function, node);
    for (const ValueId id : node.inputs) {
      const auto at = static_cast<std::size_t>(id);
      is_any = is_any || frozen[at];
      are_all = are_all && (frozen[at] || constant[at]);
    }
    for (const ValueId id : node.outputs) {
      frozen[static_cast<std::size_t>(id)] = are_all && is_any;
      constant[static_cast<std::size_t>(id)] = are_all && !is_any;
    }
  }
  return frozen;
}

FrozenParts split_frozen(const Function& function,
                         const std::vector<bool>& is_frozen) {
  WEFT_CHECK(is_frozen.size() == function.parameters().size());
  const std::vector<bool> frozen = frozen_values(function, is_frozen);
  const auto is_frozen_value = [&](ValueId id) {
    return frozen[static_cast<std::size_t>(id)];
  };
  // What crosses: frozen values that are read by what is not, or returned.
  std::vector<ValueId> crossing;
  std::vector<bool> crosses(function.value_count());
  const auto cross = [&](ValueId id) {
    if (!is_frozen_value(id) || crosses[static_cast<std::size_t>(id)]) return;
    crosses[static_cast<std::size_t>(id)] = true;
    crossing.push_back(id);
  };
  const auto is_prepared = [&](const Node& node) {
    return !node.outputs.empty() && is_frozen_value(node.outputs[0]);
  };
  for (const Node& node : function.nodes()) {
    if (is_prepared(node)) continue;
    for (const ValueId id : node.inputs) cross(id);
  }
  for (const ValueId id : function.results()) cross(id);
  // A value is named after the first frozen parameter only if it is one.
  FunctionCopy preparation(function, function.name() + ".frozen");
  FunctionCopy rest(function, function.name());
  for (std::size_t i = 0; i < is_frozen.size(); ++i) {
    const ValueId id = function.parameters()[i];
    (is_frozen[i] ? preparation : rest).add_parameter(id);
  }
  for (const ValueId id : crossing) rest.add_parameter(id);
  for (const Node& node : function.nodes()) {
    if (is_prepared(node)) {
      preparation.add_node(node);
      continue;
    }
    rest.add_node(node);
    // Constants of the preparation are computed there as well.
    if (std::ranges::all_of(node.inputs,
                            [&](ValueId id) {
                              return preparation[id] >= 0 &&
                                     !is_frozen_value(id);
                            }) &&
        may_be_frozen(function, node)) {
      preparation.add_node(node);
    }
  }
  return {eliminate_dead_nodes(preparation.finish(crossing)),
          eliminate_dead_nodes(rest.finish())};
}

}  // namespace weft
