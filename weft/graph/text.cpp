#include "weft/graph/text.h"

#include "weft/tensor/symbol.h"

namespace weft {
namespace {

std::string value_list(const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId id : ids) {
    if (!text.empty()) text += ", ";
    text += fmt::format("%{}", id);
  }
  return text;
}

std::string type_list(const Function& function,
                      const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId id : ids) {
    if (!text.empty()) text += ", ";
    text += to_string(function.type(id));
  }
  return text;
}

}  // namespace

std::string to_string(const Function& function, const Node& node) {
  // Types could be inferred again; they are written because people read them,
  // and because a text that disagrees with its ops is found out by them.
  return fmt::format("{} = {}({}){} : {}", value_list(node.outputs),
                     node.op->name(), value_list(node.inputs),
                     to_string(node.attributes),
                     type_list(function, node.outputs));
}

std::string to_string(const Function& function) {
  std::string text = fmt::format("func @{}(", function.name());
  for (std::size_t i = 0; i < function.parameters().size(); ++i) {
    const ValueId id = function.parameters()[i];
    const ValueInfo& value = function.value(id);
    if (i > 0) text += ", ";
    text += fmt::format("%{}", id);
    // A name is written as a text attribute is, so that any characters in it
    // read back.
    if (!value.name.empty()) text += " " + to_string(Attribute(value.name));
    text += ": " + to_string(value.type);
  }
  text +=
      fmt::format(") -> ({}) {{\n", type_list(function, function.results()));
  for (const Node& node : function.nodes()) {
    text += "  " + to_string(function, node) + "\n";
  }
  return text +
         fmt::format("  return {}\n}}\n", value_list(function.results()));
}

std::string to_string(const Graph& graph) {
  std::string text;
  for (const Function& function : graph.functions) {
    if (!text.empty()) text += '\n';
    text += to_string(function);
  }
  return text;
}

}  // namespace weft
