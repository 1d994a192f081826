// Puts a model into a function: in the function that is being built, every
// parameter of the model is a parameter of the function. Elsewhere the model
// keeps its own values.
//
//   FunctionBuilder builder("step");
//   Staging staged(model, builder);
//   builder.build([&] { … model(x) …; return staged.values(…); });
//
// Threads: as FunctionBuilder.
#pragma once

#include <vector>

#include "weft/graph/builder.h"
#include "weft/nn/module.h"

namespace weft::nn {

class Staging {
 public:
  // Adds the parameters in the order of model.parameters(), by full name.
  Staging(const Module& model, FunctionBuilder& builder);
  // What each parameter holds now: the function's parameter, or what
  // forward() has assigned since.
  std::vector<Value> values() const;
  // The function's parameters as they came in.
  const std::vector<Value>& arguments() const { return arguments_; }

 private:
  FunctionBuilder& builder_;
  std::vector<NamedParameter> parameters_;
  std::vector<Value> arguments_;
};

}  // namespace weft::nn
