#include "weft/nn/staging.h"

namespace weft::nn {

Staging::Staging(const Module& model, FunctionBuilder& builder)
    : parameters_(model.parameters()) {
  for (const NamedParameter& named : parameters_) {
    Parameter& parameter = *named.parameter;
    originals_.push_back(parameter.value);
    arguments_.push_back(builder.parameter(parameter.type, named.name));
    parameter.value = arguments_.back();
  }
}

Staging::~Staging() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].parameter->value = std::move(originals_[i]);
  }
}

std::vector<Value> Staging::values() const {
  std::vector<Value> result;
  for (const NamedParameter& named : parameters_) {
    result.push_back(named.parameter->value);
  }
  return result;
}

}  // namespace weft::nn
