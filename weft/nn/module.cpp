#include "weft/nn/module.h"

#include <algorithm>
#include <map>

#include "weft/base/error.h"
#include "weft/base/wildcard.h"
#include "weft/nn/view.h"

namespace weft::nn {

ParameterRef Module::parameter(std::string name, const Shape& shape, Init init,
                               Role role) {
  // What is below 0 would be taken for a symbol.
  if (std::ranges::any_of(shape, [](Dim dim) { return dim < 0; })) {
    throw Error(ErrorCode::kInvalidArgument, "parameter",
                "'{}' would have a side of {} elements", name,
                std::ranges::min(shape.dims()));
  }
  // Parameters are f32 whatever the precision of the layers: small updates
  // would be lost in bf16.
  Variable variable(TensorType{DType::kF32, shape},
                    {.name = name, .is_trainable = role == Role::kTrainable});
  own_.push_back(std::make_shared<Parameter>(
      Parameter{std::move(name), init, role, std::move(variable)}));
  return own_.back();
}

void Module::adopt(std::string name, std::shared_ptr<Module> module) {
  // A name is that of the place: parameters are called by the way to them.
  module->set_name(std::move(name));
  children_.push_back(std::move(module));
}

void Module::visit(const std::string& path, std::set<const Module*>& seen,
                   const Visitor& visitor) const {
  // A module may stand at several places; its parameters are counted at the
  // first.
  if (!seen.insert(this).second) return;
  visitor(path, *this);
  // The path grows with each level, so two layers of one kind do not collide.
  for (const auto& child : children()) {
    child->visit(path + child->name_ + ".", seen, visitor);
  }
}

std::vector<Module::Declared> Module::declared_parameters() const {
  std::vector<Declared> found;
  std::set<const Module*> seen;
  // Copies of a module are others and have its parameters.
  std::set<const Parameter*> known;
  visit("", seen, [&](const std::string& path, const Module& module) {
    for (const ParameterRef& parameter : module.own_parameters()) {
      if (!known.insert(parameter.get()).second) continue;
      found.push_back({path + parameter->name, parameter, &module});
    }
  });
  return found;
}

std::vector<NamedParameter> Module::parameters() const {
  std::vector<NamedParameter> found;
  std::map<const VariableState*, std::size_t> places;
  const auto add = [&](std::string name, const ParameterRef& parameter) {
    NamedParameter named{std::move(name), parameter};
    const auto [place, is_new] =
        places.emplace(parameter->variable.state().get(), found.size());
    if (is_new) return found.push_back(std::move(named));
    // A module may hold the variable of another one, which alone knows what it
    // is and how it begins.
    NamedParameter& known = found[place->second];
    const auto is_held = [](const Parameter& each) {
      return each.init.kind == Init::Kind::kGiven;
    };
    if (is_held(*known.parameter) && !is_held(*parameter)) {
      known = std::move(named);
    }
  };
  for (const auto& [name, parameter, module] : declared_parameters()) {
    // A view (nn/view.h) computes the parameter from parts. It may stand in for
    // it altogether: then only the parts are trained and saved.
    const ViewedParameter* viewed = parameter->viewed.get();
    if (viewed == nullptr || !viewed->view->replaces_parameter()) {
      add(name, parameter);
    }
    if (viewed == nullptr) continue;
    for (const ParameterRef& part : viewed->parts) {
      add(name + "." + part->name, part);
    }
  }
  return found;
}

void Module::initialize(std::uint64_t seed) {
  for (const auto& [name, parameter, module] : declared_parameters()) {
    // A value that came with the parameter is kept.
    if (parameter->init.kind == Init::Kind::kGiven) continue;
    // The value follows from the seed and the parameter's name alone, so that
    // neither the order of layers nor their number changes it.
    const Tensor value =
        initial_value(parameter->type(), parameter->init, seed, name);
    if (parameter->viewed == nullptr) {
      parameter->variable.set_tensor(value);
    } else {
      set_first_value(*parameter, value, seed, name);
    }
  }
}

void Module::train(bool is_training) {
  std::set<const Module*> seen;
  visit("", seen, [&](const std::string&, const Module& module) {
    module.is_training_.set(is_training);
  });
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
  return parameter->viewed == nullptr ? own_value_of(*parameter)
                                      : seen_value(*parameter);
}

Value own_value_of(const Parameter& parameter) {
  // The context decides: where a function is built this is one of its values,
  // and where ops run at once it is the variable's own.
  Value value = current_context().read(parameter.variable.state());
  if (!value.is_defined()) {
    throw Error(ErrorCode::kInvalidArgument, "model",
                "parameter '{}' of layer '{}' has no value yet", parameter.name,
                LayerScope::current())
        .hint("call model.initialize(seed), or load a checkpoint");
  }
  return value;
}

void freeze(const Module& module, std::string_view pattern) {
  for (const auto& [name, parameter] : module.parameters()) {
    if (!parameter->is_trainable() || !matches_wildcard(pattern, name))
      continue;
    // The role is for those who list parameters; the state is what gradients
    // ask.
    parameter->role = Role::kFrozen;
    parameter->variable.state()->is_trainable = false;
  }
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
