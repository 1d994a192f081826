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
  // With `lower_composites`, an op that has a lowering but no gradient rule is
  // recorded as the ops it lowers to, so that the function can be
  // differentiated. Without, nodes are recorded as they were called.
  explicit FunctionBuilder(std::string name, bool lower_composites = true)
      : function_(std::move(name)), lower_composites_(lower_composites) {}

  Value parameter(const TensorType& type, std::string name = "");
  // A value of this function that holds the given bytes.
  Value constant(const Tensor& tensor);

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override;

  // Copies the nodes of `function` into this one, lowering as above. Returns a
  // Value for each of its values, by ValueId; its parameters become
  // `arguments`.
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
  std::vector<Value> lower(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location);

  Function function_;
  bool lower_composites_;
};

}  // namespace weft
