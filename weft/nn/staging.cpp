#include "weft/nn/staging.h"

namespace weft::nn {

Staging::Staging(const Module& model, FunctionBuilder& builder)
    : builder_(builder), parameters_(model.parameters()) {
  for (const NamedParameter& named : parameters_) {
    const Variable& variable = named.parameter->variable;
    arguments_.push_back(builder.parameter(variable.type(), named.name));
    // From here on, reading or assigning the variable is about the function's
    // value and leaves the model as it is.
    builder.bind(variable.state(), arguments_.back());
  }
}

std::vector<Value> Staging::values() const {
  std::vector<Value> result;
  for (const NamedParameter& named : parameters_) {
    // What forward() has assigned is the next value of the parameter.
    result.push_back(builder_.read(named.parameter->variable.state()));
  }
  return result;
}

}  // namespace weft::nn
