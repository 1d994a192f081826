#include "weft/nn/module.h"

#include "weft/base/error.h"

namespace weft::nn {

ParameterRef Module::parameter(std::string name, const Shape& shape, Init init,
                               Role role) {
  Variable variable(TensorType{DType::kF32, shape},
                    {.name = name, .is_trainable = role == Role::kTrainable});
  own_.push_back(std::make_shared<Parameter>(
      Parameter{std::move(name), init, role, std::move(variable)}));
  return own_.back();
}

void Module::adopt(std::string name, std::shared_ptr<Module> module) {
  module->set_name(std::move(name));
  children_.push_back(std::move(module));
}

void Module::collect(const std::string& path,
                     std::vector<NamedParameter>& found) const {
  for (const ParameterRef& parameter : own_) {
    found.push_back({path + parameter->name, parameter});
  }
  for (const auto& child : children_) {
    child->collect(path + child->name_ + ".", found);
  }
}

std::vector<NamedParameter> Module::parameters() const {
  std::vector<NamedParameter> found;
  collect("", found);
  return found;
}

void Module::initialize(std::uint64_t seed) {
  for (const NamedParameter& named : parameters()) {
    Parameter& parameter = *named.parameter;
    parameter.variable.set_tensor(
        initial_value(parameter.type(), parameter.init, seed, named.name));
  }
}

void Module::train(bool is_training) {
  is_training_.set(is_training);
  for (const auto& child : children_) child->train(is_training);
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const NamedParameter& named : parameters()) {
    if (named.parameter->is_trainable()) {
      count += named.parameter->type().shape.num_elements();
    }
  }
  return count;
}

Value value_of(const ParameterRef& parameter) {
  Value value = current_context().read(parameter->variable.state());
  if (!value.is_defined()) {
    throw Error(ErrorCode::kInvalidArgument, "model",
                "parameter '{}' of layer '{}' has no value yet",
                parameter->name, LayerScope::current())
        .hint("call model.initialize(seed), or load a checkpoint");
  }
  return value;
}

ParameterRef find_parameter(const Module& module, std::string_view name) {
  std::vector<std::string> names;
  for (NamedParameter& named : module.parameters()) {
    if (named.name == name) return named.parameter;
    names.push_back(std::move(named.name));
  }
  const std::string near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument, "model", "no parameter '{}'{}", name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

}  // namespace weft::nn
