// The op that calls code of the program (runtime/host_func.h).
#include "weft/graph/gradient.h"
#include "weft/graph/host_function.h"
#include "weft/graph/registry.h"
#include "weft/ops/constant.h"

namespace weft {
namespace {

const HostFunctionRef& function_of(const Attributes& attributes) {
  return attributes.get<HostFunctionRef>("function");
}

// Operands are copied: the program may keep them.
void host_func_reference(const OpCall& call, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  try {
    std::vector<Tensor> operands;
    for (const TensorView& input : inputs) {
      operands.push_back(Tensor::empty(input.type));
      std::memcpy(operands.back().raw(), input.data, operands.back().bytes());
    }
    const auto results = function_of(call.attributes)->run(operands);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      // run() has checked the types of what came back.
      std::memcpy(outputs[i].data, results[i].raw(), results[i].bytes());
    }
  } catch (...) {
    // A kernel cannot throw: until its caller asks for the failure, the results
    // hold numbers and no leftovers.
    for (const TensorView& output : outputs) {
      std::memset(output.data, 0, output.type.bytes());
    }
    keep_host_failure(std::current_exception());
  }
}

Gradients host_func_gradient(const GradientContext& g) {
  static const OpDef& op = op_registry().get("host_func");
  std::vector<Value> operands;
  // The gradient is a host function too, so that the same op runs it; it takes
  // what the function took, then what flowed into its floating results.
  for (std::size_t i = 0; i < g.input_count(); ++i) operands.push_back(g.x(i));
  for (std::size_t i = 0; i < g.output_count(); ++i) {
    if (!is_floating(g.y(i).dtype())) continue;
    // The function's gradient takes one for each floating result, whether or
    // not something arrived there.
    operands.push_back(g.dy(i).is_defined() ? g.dy(i) : zeros_like(g.y(i)));
  }
  const auto found = call_all(
      op, operands, {{"function", function_of(g.attributes())->gradient()}},
      Location());
  // The function returns gradients of floating operands only, in order.
  Gradients result(g.input_count());
  for (std::size_t i = 0, next = 0; i < result.size(); ++i) {
    if (is_floating(g.x(i).dtype())) result[i] = found[next++];
  }
  return result;
}

}  // namespace

void register_host_func(OpRegistry& ops) {
  ops.add("host_func")
      .summary("what code of the program makes of the operands")
      .signature("(operands...?) -> results")
      .required("function", HostFunctionRef())
      .traits(kHost)
      .infer([](const OpCall& call) {
        const HostFunctionRef& function = function_of(call.attributes);
        // A null reference is of the right kind as well: the example above is
        // one.
        if (function == nullptr) throw call.error("there is no function");
        return function->result_types(call.inputs);
      })
      .reference(host_func_reference)
      .gradient(host_func_gradient)
      // What the program's code costs is not known.
      .cost([](const OpCall& call) { return Cost::of(call, 0); });
}

}  // namespace weft
