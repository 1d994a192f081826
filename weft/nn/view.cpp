#include "weft/nn/view.h"

#include <optional>

#include "weft/base/call_reader.h"
#include "weft/base/name_patterns.h"
#include "weft/base/refusal.h"
#include "weft/base/wildcard.h"
#include "weft/graph/program.h"

namespace weft {
namespace {

// Why what a view makes of a parameter cannot stand in for it; empty if it can.
std::optional<std::string> misfit(const ParameterView& view,
                                  const TensorType& type) {
  const std::vector<ViewPart> parts = view.parts(type);
  // The view is staged into a function that nobody runs, for the types of what
  // it makes.
  Program program;
  FunctionBuilder& builder = program.builder("view");
  Value own;
  if (!view.replaces_parameter()) own = builder.parameter(type, "parameter");
  std::vector<Value> values;
  for (const ViewPart& part : parts) {
    values.push_back(builder.parameter(part.type, part.name));
  }
  std::optional<std::string> reason;
  const auto expect = [&](std::string_view what, const TensorType& expected,
                          const Value& found) {
    if (reason || found.type() == expected) return;
    reason = fmt::format("{} is {}, where {} is due", what,
                         to_string(found.type()), to_string(expected));
  };
  try {
    builder.build([&]() -> std::vector<Value> {
      const std::vector<Value> next = view.next_parts(own, values);
      if (!next.empty() && next.size() != parts.size()) {
        reason = fmt::format("it changes {} of its {} parts", next.size(),
                             parts.size());
        return {};
      }
      for (std::size_t i = 0; i < next.size(); ++i) {
        expect(fmt::format("its next '{}'", parts[i].name), parts[i].type,
               next[i]);
      }
      expect("what it makes of it", type, view.value(type, own, values));
      return {};
    });
  } catch (const Error& error) {
    // A view computes with ops, which refuse types by throwing.
    return fmt::format("computing it fails, as {}", error.message());
  }
  return reason;
}

}  // namespace

std::optional<std::string> declines(const ParameterView& view,
                                    const TensorType& parameter) {
  if (parameter.shape.num_elements() == 0) return "it has no elements";
  if (auto reason = view.declines(parameter)) return reason;
  return misfit(view, parameter);
}

std::unique_ptr<ParameterView> make_view(std::string_view text) {
  const auto call = parse_call(text, parameter_view_registry(), "view");
  return call.def->make(call.options);
}

namespace nn {
namespace {

constexpr const char* kWhere = "model.views";

Error cannot_see(const Module::Declared& declared, const ViewChoice& choice,
                 std::string_view where, const std::string& reason,
                 const std::string& instead = "") {
  return refused(where, in_quotes(choice.view),
                 {fmt::format("parameter '{}' ({})", declared.name,
                              to_string(declared.parameter->type())),
                  reason, instead});
}

std::shared_ptr<const ViewedParameter> viewed_by(
    const Module::Declared& declared, const ViewChoice& choice,
    const std::string& where) {
  const Parameter& parameter = *declared.parameter;
  if (parameter.viewed != nullptr) {
    throw cannot_see(declared, choice, where, "it has a view already");
  }
  if (!declared.module->reads_by_value_of()) {
    throw cannot_see(declared, choice, where, "its module reads it by itself",
                     "let a layer of weft.nn own it");
  }
  std::shared_ptr<const ParameterView> view = make_view(choice.view);
  if (const auto reason = declines(*view, parameter.type())) {
    throw cannot_see(declared, choice, where, *reason);
  }
  std::vector<ParameterRef> parts;
  for (const auto& [name, type, role] : view->parts(parameter.type())) {
    Variable variable(type, {.name = parameter.name + "." + name,
                             .is_trainable = role == Role::kTrainable});
    // The first value follows from the parameter's (set_first_value), so no
    // initializer draws one.
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
    // Where there is none yet, initialize() gives the parts their values too.
    if (value.is_defined()) {
      set_first_value(parameter, value, seed, trained[i].name);
    }
  }
}

void set_first_value(const Parameter& parameter, const Tensor& value,
                     std::uint64_t seed, std::string_view name) {
  const ParameterView& view = *parameter.viewed->view;
  const auto& parts = parameter.viewed->parts;
  // The values are computed now, even where a function is being built.
  const std::vector<Tensor> first =
      init_scope([&] { return view.first_values(value, seed, name); });
  const auto refuse = [&](std::string reason) {
    throw Error(ErrorCode::kInvalidArgument, name, "its view {}", reason);
  };
  if (first.size() != parts.size()) {
    refuse(fmt::format("has {} parts, and first values for {}", parts.size(),
                       first.size()));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (first[i].type() != parts[i]->type()) {
      refuse(fmt::format("begins '{}' as {}, where {} is due", parts[i]->name,
                         to_string(first[i].type()),
                         to_string(parts[i]->type())));
    }
    parts[i]->variable.set_tensor(first[i]);
  }
  // A parameter that its parts replace has no memory any more.
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
      // Where a parameter is read twice in a step, both assign the same, as
      // next_parts() must see to.
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
