#include "weft/runtime/fold_frozen.h"

#include "weft/compiler/frozen.h"
#include "weft/compiler/frozen_rules.h"
#include "weft/graph/builder.h"
#include "weft/graph/inlining.h"
#include "weft/runtime/executable.h"

namespace weft {

Function fold_frozen(const Function& given, const Frozen& frozen,
                     const PassOptions& options) {
  if (frozen.empty()) return given;
  std::vector<bool> is_frozen(given.parameters().size());
  std::vector<Tensor> values(given.parameters().size());
  for (const auto& [parameter, value] : frozen) {
    WEFT_CHECK(parameter < is_frozen.size());
    is_frozen[parameter] = true;
    values[parameter] = value;
  }
  const Function function =
      options.may_round ? apply_frozen_rules(given, is_frozen, options.without)
                        : given;
  // Its checks hold here too.
  Function plain = freeze(function, frozen);
  FrozenParts parts = split_frozen(function, is_frozen);
  // Where weights are read as they are, nothing is left to compute.
  if (parts.preparation.nodes().empty()) return plain;
  std::vector<Tensor> weights;
  for (const Tensor& value : values) {
    if (value.is_defined()) weights.push_back(value);
  }
  const std::vector<Tensor> prepared =
      Executable(std::move(parts.preparation)).run(weights);
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
