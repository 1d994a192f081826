#include "weft/graph/registry.h"
#include "weft/ops/control.h"
#include "weft/ops/recursive.h"
#include "weft/ops/support/onnx.h"

namespace weft {
namespace {

std::vector<TensorType> types_of(const std::vector<Value>& values) {
  std::vector<TensorType> types;
  for (const Value& value : values) types.push_back(value.type());
  return types;
}

void require_types(const FunctionRef& function,
                   const std::vector<Value>& results) {
  const Signature made{function.signature->parameters, types_of(results)};
  // Calls inside the body were built with the declared types, before anything
  // was known of what it returns.
  if (made == *function.signature) return;
  throw Error(ErrorCode::kInvalidArgument, "@" + function.name,
              "does not return what it was said to")
      .detail("declared: " + to_string(*function.signature))
      .detail("returned: " + to_string(made));
}

void export_call(OnnxContext& c) {
  OnnxContext::Names arguments;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    arguments.push_back(c.x(i));
  }
  const auto results = c.run(c.attributes().function("function"), arguments);
  for (std::size_t i = 0; i < results.size(); ++i) c.set(i, results[i]);
}

}  // namespace

void register_call(OpRegistry& ops) {
  ops.add("call")
      .summary("what a function of the graph makes of the arguments")
      .signature("(args...?) -> results")
      .required("function", FunctionRef())
      // There is no reference kernel (kControl): only an executor can run the
      // nodes of another function.
      .traits(kControl)
      .infer([](const OpCall& call) {
        return result_types(call.attributes.function("function"), call.inputs);
      })
      .onnx(export_call)
      // A call computes nothing of its own: the flops are those of the
      // function's nodes.
      .cost([](const OpCall& call) { return Cost::of(call, 0); });
}

std::vector<Value> call(const FunctionRef& function,
                        std::span<const Value> arguments,
                        const Location& where) {
  static const OpDef& op = op_registry().get("call");
  return call_all(op, arguments, {{"function", function}}, where);
}

std::vector<Value> recursive(const std::string& name,
                             const std::vector<Value>& arguments,
                             const std::vector<TensorType>& results,
                             const RecursiveBody& body,
                             std::source_location where) {
  FunctionBuilder* builder = current_context().builder();
  if (builder == nullptr) {
    // Eagerly the recursion is the program's own, on its stack.
    // The function must exist before the lambda that captures it.
    Recursion self;
    self = [&](const std::vector<Value>& v) { return body(v, self); };
    return self(arguments);
  }
  Program& program = builder->program();
  // A body that calls itself is built while its own signature is needed, so the
  // caller has said what the results will be. Names are made unique: one C++
  // function may be called twice within a program.
  const FunctionRef function{
      program.unique_name(name),
      std::make_shared<Signature>(Signature{types_of(arguments), results})};
  const Recursion self = [&](const std::vector<Value>& v) {
    return call(function, v, where);
  };
  // The body may capture nothing: the calls of itself within it are built
  // before it ends, and could not pass what is captured after them.
  program.define(function, [&](const std::vector<Value>& v) {
    std::vector<Value> made = body(v, self);
    require_types(function, made);
    return made;
  });
  return call(function, arguments, where);
}

}  // namespace weft
