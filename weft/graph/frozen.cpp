#include "weft/graph/frozen.h"

#include "weft/graph/function_copy.h"
#include "weft/graph/registry.h"

namespace weft {

Function freeze(const Function& function, const Frozen& frozen) {
  static const OpDef& constant = op_registry().get("constant");
  FunctionCopy copy(function, function.name());
  copy.add_parameters();
  for (const auto& [index, value] : frozen) {
    WEFT_CHECK(index < function.parameters().size());
    const ValueId parameter = function.parameters()[index];
    if (!(function.type(parameter) == value.type())) {
      throw Error(ErrorCode::kInvalidArgument, "@" + function.name(),
                  "the parameter '{}' cannot be frozen as this value",
                  function.value(parameter).name)
          .detail("parameter: " + to_string(function.type(parameter)))
          .detail("value:     " + to_string(value.type()));
    }
    copy[parameter] =
        copy.function()
            .add_node(constant, {}, {{"value", value}}, Location())
            .outputs[0];
  }
  for (const Node& node : function.nodes()) copy.add_node(node);
  return copy.finish();
}

}  // namespace weft
