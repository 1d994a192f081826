// Builds a Function by running code that computes with Values.
//
//   FunctionBuilder builder("double");
//   const Value x = builder.parameter({DType::kF32, {symbol("N")}}, "x");
//   Function f = builder.build([&] { return std::vector{x + x}; });
//
// Threads: one thread at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/graph/context.h"

namespace weft {

class FunctionBuilder : public Context {
 public:
  explicit FunctionBuilder(std::string name) : function_(std::move(name)) {}

  Value parameter(const TensorType& type, std::string name = "");
  // A value of this function that holds the given bytes.
  Value constant(const Tensor& tensor);

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override;

  // Copies the nodes of `function` into this one. Returns a Value for each of
  // its values, by ValueId; its parameters become `arguments`.
  std::vector<Value> inline_function(const Function& function,
                                     std::span<const Value> arguments);

  // Runs `body` with this builder as the current context; what it returns
  // become the results.
  Function build(const std::function<std::vector<Value>()>& body);

  const Function& function() const { return function_; }
  // The id of a value in this function; a concrete one becomes a constant.
  // Throws Error(kInvalidArgument) for a value of another builder.
  ValueId id_of(const Value& value);

 private:
  Function function_;
};

}  // namespace weft
