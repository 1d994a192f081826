#include "weft/compiler/sink_constants.h"

#include <algorithm>
#include <map>
#include <optional>

#include "weft/graph/frozen.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// Operands of this op from here on are the same in every call of its
// functions, which have a parameter for each operand; none where they are not.
std::optional<std::size_t> first_invariant(const Node& node) {
  static const OpDef& call = op_registry().get("call");
  static const OpDef& loop = op_registry().get("while");
  static const OpDef& scan = op_registry().get("scan");
  const auto count = [&](const char* name) {
    return static_cast<std::size_t>(node.attributes.integer(name));
  };
  if (node.op == &call) return 0;
  if (node.op == &loop) return count("carried");
  if (node.op == &scan) return count("carried") + count("scanned");
  return std::nullopt;
}

// What all who call a function give it: a constant for some parameters.
class Given {
 public:
  explicit Given(const Graph& graph) : graph_(graph) {
    for (const Function& function : graph.functions) {
      for (const Node& node : function.nodes()) look_at(function, node);
    }
  }

  Frozen constants_of(const Function& function) const {
    Frozen constants;
    const auto found = by_function_.find(function.name());
    if (found == by_function_.end()) return constants;
    for (const auto& [index, value] : found->second) {
      if (value) constants.emplace_back(index, *value);
    }
    return constants;
  }

 private:
  void look_at(const Function& caller, const Node& node) {
    for (const auto& [name, attribute] : node.attributes) {
      const auto* callee = std::get_if<FunctionRef>(&attribute);
      if (callee == nullptr) continue;
      const Function* function = graph_.find(callee->name);
      if (function == nullptr) continue;
      const std::size_t first =
          first_invariant(node).value_or(function->parameters().size());
      for (std::size_t i = 0; i < function->parameters().size(); ++i) {
        merge(callee->name, i,
              i >= first ? constant_of(caller, node.inputs[i]) : nullptr);
      }
    }
  }

  static const Tensor* constant_of(const Function& function, ValueId id) {
    static const OpDef& constant = op_registry().get("constant");
    if (function.is_parameter(id)) return nullptr;
    const Node& node = function.node(function.value(id).node);
    return node.op == &constant ? &node.attributes.get<Tensor>("value")
                                : nullptr;
  }

  // Once callers differ, a parameter stays one.
  void merge(const std::string& callee, std::size_t index,
             const Tensor* value) {
    auto& known = by_function_[callee];
    const auto found = known.find(index);
    if (found == known.end()) {
      known[index] = value ? std::optional(*value) : std::nullopt;
    } else if (found->second &&
               (value == nullptr || value->raw() != found->second->raw())) {
      found->second.reset();
    }
  }

  const Graph& graph_;
  std::map<std::string, std::map<std::size_t, std::optional<Tensor>>>
      by_function_;
};

bool is_read(const Function& function, std::size_t parameter) {
  const ValueId id = function.parameters()[parameter];
  const auto reads = [&](const std::vector<ValueId>& ids) {
    return std::ranges::find(ids, id) != ids.end();
  };
  return reads(function.results()) ||
         std::ranges::any_of(function.nodes(), [&](const Node& node) {
           return reads(node.inputs);
         });
}

}  // namespace

Graph sink_constants(Graph graph, std::string_view entry) {
  // What was sunk may be passed on: each round is a level of calls.
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    const Given given(graph);
    for (Function& function : graph.functions) {
      if (function.name() == entry) continue;
      Frozen constants = given.constants_of(function);
      std::erase_if(constants, [&](const auto& each) {
        return !is_read(function, each.first);
      });
      if (constants.empty()) continue;
      function = freeze(function, constants);
      has_changed = true;
    }
  }
  return graph;
}

}  // namespace weft
