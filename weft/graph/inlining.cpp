#include "weft/graph/inlining.h"

namespace weft {

std::vector<Value> add_parameters(FunctionBuilder& builder,
                                  const Function& function) {
  std::vector<Value> parameters;
  for (const ValueId id : function.parameters()) {
    parameters.push_back(
        builder.parameter(function.type(id), function.value(id).name));
  }
  return parameters;
}

std::vector<Value> inlined_results(FunctionBuilder& builder,
                                   const Function& function,
                                   std::span<const Value> arguments) {
  // All of the function's nodes are copied; what no result needs goes when the
  // function is simplified.
  const auto values = builder.inline_function(function, arguments);
  std::vector<Value> results;
  for (const ValueId id : function.results()) {
    results.push_back(values[static_cast<std::size_t>(id)]);
  }
  return results;
}

std::vector<Value> rebuild(FunctionBuilder& builder, const Function& function) {
  // The builder sees every op again through apply(), which is where a rewrite
  // acts.
  return inlined_results(builder, function, add_parameters(builder, function));
}

}  // namespace weft
