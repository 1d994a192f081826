#include "weft/runtime/fold_frozen.h"

#include "weft/compiler/frozen.h"
#include "weft/graph/builder.h"
#include "weft/graph/inlining.h"
#include "weft/runtime/executable.h"

namespace weft {

Function fold_frozen(const Function& function, const Frozen& frozen) {
  if (frozen.empty()) return function;
  // Its checks hold here too.
  Function plain = freeze(function, frozen);
  std::vector<bool> is_frozen(function.parameters().size());
  std::vector<Tensor> values(function.parameters().size());
  for (const auto& [parameter, value] : frozen) {
    is_frozen[parameter] = true;
    values[parameter] = value;
  }
  FrozenParts parts = split_frozen(function, is_frozen);
  // Where weights are read as they are, nothing is left to compute.
  if (parts.preparation.nodes().empty()) return plain;
  std::vector<Tensor> given;
  for (const Tensor& value : values) {
    if (value.is_defined()) given.push_back(value);
  }
  const std::vector<Tensor> prepared =
      Executable(std::move(parts.preparation)).run(given);
  FunctionBuilder builder(function.name(), /*lower_composites=*/false);
  return builder.build([&] {
    std::vector<Value> arguments;
    const std::vector<Value> parameters = add_parameters(builder, function);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!is_frozen[i]) arguments.push_back(parameters[i]);
    }
    for (const Tensor& tensor : prepared) {
      arguments.push_back(builder.constant(tensor));
    }
    return inlined_results(builder, parts.rest, arguments);
  });
}

}  // namespace weft
