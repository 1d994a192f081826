#include "weft/graph/registry.h"
#include "weft/ops/control.h"

namespace weft {

void register_call(OpRegistry& ops) {
  ops.add("call")
      .summary("what a function of the graph makes of the arguments")
      .signature("(args...?) -> results")
      .required("function", FunctionRef())
      .traits(kControl)
      .infer([](const OpCall& call) {
        return result_types(call.attributes.function("function"), call.inputs);
      })
      .cost([](const OpCall& call) { return Cost::of(call, 0); });
}

std::vector<Value> call(const FunctionRef& function,
                        std::span<const Value> arguments,
                        const Location& where) {
  static const OpDef& op = op_registry().get("call");
  return call_all(op, arguments, {{"function", function}}, where);
}

}  // namespace weft
