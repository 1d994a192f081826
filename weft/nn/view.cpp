#include "weft/nn/view.h"

#include <optional>

#include "weft/base/call_reader.h"
#include "weft/base/name_patterns.h"
#include "weft/base/wildcard.h"
#include "weft/graph/builder.h"

namespace weft {

std::unique_ptr<ParameterView> make_view(std::string_view text) {
  const auto call = parse_call(text, parameter_view_registry(), "view");
  return call.def->make(call.options);
}

namespace nn {
namespace {

constexpr const char* kWhere = "model.views";

Error cannot_see(const Module::Declared& declared, const ViewChoice& choice,
                 std::string_view where, std::string_view reason) {
  return Error(ErrorCode::kInvalidArgument, where,
               "parameter '{}' ({}) cannot be seen as {}: {}", declared.name,
               to_string(declared.parameter->type()), choice.view, reason);
}

std::shared_ptr<const ViewedParameter> viewed_by(
    const Module::Declared& declared, const ViewChoice& choice,
    const std::string& where) {
  const Parameter& parameter = *declared.parameter;
  if (parameter.viewed != nullptr) {
    throw cannot_see(declared, choice, where, "it has a view already");
  }
  if (!declared.module->reads_by_value_of()) {
    throw cannot_see(declared, choice, where, "its module reads it by itself")
        .hint("let a layer of weft.nn own it");
  }
  std::shared_ptr<const ParameterView> view = make_view(choice.view);
  if (parameter.type().shape.num_elements() == 0) {
    throw cannot_see(declared, choice, where, "it has no elements");
  }
  if (const auto reason = view->declines(parameter.type())) {
    throw cannot_see(declared, choice, where, *reason);
  }
  std::vector<ParameterRef> parts;
  for (const auto& [name, type, role] : view->parts(parameter.type())) {
    Variable variable(type, {.name = parameter.name + "." + name,
                             .is_trainable = role == Role::kTrainable});
    parts.push_back(std::make_shared<Parameter>(
        Parameter{name, Init::given(), role, std::move(variable)}));
  }
  return std::make_shared<ViewedParameter>(ViewedParameter{
      std::move(view), std::move(parts), declared.module->training_mode()});
}

// The outermost function that is being built, or null.
FunctionBuilder* outermost_builder() {
  FunctionBuilder* builder = current_context().builder();
  while (builder != nullptr && builder->enclosing() != nullptr) {
    builder = builder->enclosing();
  }
  return builder;
}

}  // namespace

void view_parameters(const Module& model,
                     const std::vector<ViewChoice>& choices,
                     std::uint64_t seed) {
  std::vector<Module::Declared> trained;
  std::vector<std::string> names;
  for (Module::Declared& declared : model.declared_parameters()) {
    if (!declared.parameter->is_trainable()) continue;
    names.push_back(declared.name);
    trained.push_back(std::move(declared));
  }
  std::vector<std::string> patterns;
  for (const ViewChoice& choice : choices) {
    patterns.push_back(choice.parameters);
  }
  check_patterns(patterns, names, "parameter", kWhere);
  // All are made before any is set, so that a refusal leaves the model as it
  // was.
  std::vector<std::shared_ptr<const ViewedParameter>> views(trained.size());
  for (std::size_t i = 0; i < trained.size(); ++i) {
    for (std::size_t k = 0; k < choices.size(); ++k) {
      if (!matches_wildcard(choices[k].parameters, trained[i].name)) continue;
      views[i] =
          viewed_by(trained[i], choices[k], fmt::format("{}.{}", kWhere, k));
    }
  }
  for (std::size_t i = 0; i < trained.size(); ++i) {
    if (views[i] == nullptr) continue;
    Parameter& parameter = *trained[i].parameter;
    parameter.viewed = views[i];
    const Tensor value = parameter.variable.tensor();
    if (value.is_defined()) {
      set_first_value(parameter, value, seed, trained[i].name);
    }
  }
}

void set_first_value(const Parameter& parameter, const Tensor& value,
                     std::uint64_t seed, std::string_view name) {
  const ParameterView& view = *parameter.viewed->view;
  const auto& parts = parameter.viewed->parts;
  const std::vector<Tensor> first =
      init_scope([&] { return view.first_values(value, seed, name); });
  WEFT_CHECK(first.size() == parts.size(), "first values of '{}'", name);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    WEFT_CHECK(first[i].type() == parts[i]->type(), "'{}' of '{}'",
               parts[i]->name, name);
    parts[i]->variable.set_tensor(first[i]);
  }
  parameter.variable.set_tensor(view.replaces_parameter() ? Tensor() : value);
}

Value seen_value(const Parameter& parameter) {
  const auto& [view, parts, is_training] = *parameter.viewed;
  // A body of a loop captures what it uses from around it; within, the view
  // would be computed in each turn.
  std::optional<ContextScope> outermost;
  if (FunctionBuilder* builder = outermost_builder()) {
    outermost.emplace(*builder);
  }
  const LayerScope scope("view/" + parameter.name);
  const Value own =
      view->replaces_parameter() ? Value() : own_value_of(parameter);
  std::vector<Value> values;
  for (const ParameterRef& part : parts) values.push_back(own_value_of(*part));
  if (is_training.is_on()) {
    const std::vector<Value> next = view->next_parts(own, values);
    for (std::size_t i = 0; i < next.size(); ++i) {
      values[i] = next[i];
      parts[i]->variable.assign(next[i]);
    }
  }
  Value seen = view->value(parameter.type(), own, values);
  WEFT_CHECK(seen.type() == parameter.type(), "the view of '{}'",
             parameter.name);
  return seen;
}

}  // namespace nn
}  // namespace weft
