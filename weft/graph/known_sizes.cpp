#include "weft/graph/known_sizes.h"

#include <algorithm>

namespace weft {

Bindings symbols_of_parameters(const Function& function) {
  Bindings symbols;
  for (const ValueId id : function.parameters()) {
    for (const Dim symbol : symbols_of(function.type(id).shape)) {
      symbols.bind(symbol, symbol);
    }
  }
  return symbols;
}

bool has_known_sizes(const Function& function, const Node& node,
                     const Bindings& symbols) {
  // Most shapes have no symbols, and every function that is built comes here.
  const auto is_known = [&](const Shape& shape) {
    return shape.is_static() || determines(symbols, shape);
  };
  return std::ranges::all_of(
             node.outputs,
             [&](ValueId id) { return is_known(function.type(id).shape); }) &&
         std::ranges::all_of(
             node.attributes, [&](const Attributes::Entry& each) {
               const auto* shape = std::get_if<Shape>(&each.second);
               return shape == nullptr || is_known(*shape);
             });
}

}  // namespace weft
