#include "weft/optim/variable_updater.h"

#include <set>

#include "weft/graph/context.h"
#include "weft/graph/variable_type.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/row_gradient.h"

namespace weft {
namespace {

Variable statistic(const Tensor& initial, std::string name) {
  return Variable(initial, {.name = std::move(name), .is_trainable = false});
}

std::vector<Value> values_of(const std::vector<Variable>& variables) {
  std::vector<Value> values;
  for (const Variable& variable : variables) values.push_back(variable.read());
  return values;
}

void assign_all(const std::vector<Variable>& variables,
                const std::vector<Value>& values) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    variables[i].assign(values[i]);
  }
}

std::string variable_title(const VariableState& variable) {
  return variable.name.empty() ? "a variable" : "'" + variable.name + "'";
}

// Layers call each of their weights "weight": what is remembered of one would
// have the name of what is remembered of another.
std::vector<std::string> names_of(const std::vector<VariableRef>& variables) {
  std::vector<std::string> names;
  for (const VariableRef& variable : variables) names.push_back(variable->name);
  const std::set<std::string_view> different(names.begin(), names.end());
  if (different.size() == names.size()) return names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = std::to_string(i);
  return names;
}

// The rate and its corrections are f32, which do not mix with other dtypes.
void check_variable_dtype(const VariableState& variable) {
  if (variable.type.dtype == DType::kF32) return;
  throw Error(ErrorCode::kUnsupported, "optimizer",
              "{} is {}, and optimizers change f32", variable_title(variable),
              to_string(variable.type.dtype))
      .hint("keep it in f32 and cast what is read from it");
}

// It would be measured twice, and of its two steps one would be lost.
void check_different(const std::vector<VariableRef>& variables) {
  std::set<VariableRef> known;
  for (const VariableRef& variable : variables) {
    if (known.insert(variable).second) continue;
    throw Error(ErrorCode::kInvalidArgument, "optimizer", "{} is there twice",
                variable_title(*variable))
        .hint(
            "give it once: parameters() of the module of all that share it "
            "has it once");
  }
}

// What begins as a copy of the variable needs something to copy.
void check_has_value(const VariableState& variable) {
  if (variable.value.is_defined()) return;
  throw Error(ErrorCode::kInvalidArgument, "optimizer",
              "{} has no value yet, of which the optimizer keeps a copy",
              variable_title(variable))
      .hint("call model.initialize(seed), or load a checkpoint, before");
}

void check_gradient(const VariableState& variable, const Value& gradient) {
  if (may_hold(variable.type, gradient.type())) return;
  throw Error(ErrorCode::kInvalidArgument, "optimizer",
              "the gradient of {} is {}, and it is {}",
              variable_title(variable), to_string(gradient.type()),
              to_string(variable.type));
}

}  // namespace

VariableUpdater::VariableUpdater(std::unique_ptr<Optimizer> optimizer,
                                 std::vector<VariableRef> variables, double lr,
                                 std::vector<std::string> names)
    : optimizer_(std::move(optimizer)),
      variables_(std::move(variables)),
      names_(names.empty() ? names_of(variables_) : std::move(names)),
      // The rate is a variable, so that a compiled step need not be compiled
      // again where it changes.
      learning_rate_(
          statistic(Tensor::scalar(static_cast<float>(lr)), "learning_rate")),
      step_(statistic(Tensor::scalar(0.0), "step")) {
  WEFT_CHECK(names_.size() == variables_.size());
  check_different(variables_);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const VariableState& variable = *variables_[i];
    check_variable_dtype(variable);
    std::vector<Variable>& own = slots_.emplace_back();
    for (const Slot& slot : optimizer_->slots({names_[i], variable.type})) {
      if (slot.is_copy) check_has_value(variable);
      own.push_back(statistic(initial_slot(slot, variable.value),
                              names_[i] + "." + slot.name));
    }
  }
  for (const Slot& slot : optimizer_->shared_slots()) {
    shared_.push_back(statistic(initial_slot(slot), slot.name));
  }
}

void VariableUpdater::update(std::span<const Value> gradients) {
  if (gradients.size() != variables_.size()) {
    throw Error(ErrorCode::kInvalidArgument, "optimizer",
                "{} gradients for {} variables", gradients.size(),
                variables_.size());
  }
  // A step that is refused changes nothing.
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    check_gradient(*variables_[i], gradients[i]);
  }
  Context& context = current_context();
  // All is read before anything is assigned, as an optimizer may look at all
  // parameters.
  std::vector<ParameterStep> steps;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    steps.push_back({.name = names_[i],
                     .parameter = context.read(variables_[i]),
                     .gradient = gradients[i],
                     .slots = values_of(slots_[i])});
  }
  // Tables of which few rows have a gradient are updated in these alone.
  const TouchedRows touched(*optimizer_, steps);
  std::vector<Value> shared = values_of(shared_);
  // Steps count from 1, as bias corrections need it.
  const Value number = step_.read() + 1.0;
  optimizer_->update(steps, shared, {learning_rate_.read(), number});
  touched.put_back(steps);
  step_.assign(number);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    context.assign(variables_[i], steps[i].parameter);
    assign_all(slots_[i], steps[i].slots);
  }
  assign_all(shared_, shared);
}

std::vector<Variable> VariableUpdater::used() const {
  std::vector<Variable> result;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const VariableRef& own = variables_[i];
    const auto slot = stand_in(*optimizer_, {names_[i], own->type});
    // A slot that stands in, as an average does, is what the model is used
    // with.
    result.emplace_back(slot ? slots_[i][*slot].state() : own);
  }
  return result;
}

std::vector<VariableUpdater::NamedSlot> VariableUpdater::slots() const {
  std::vector<NamedSlot> named;
  for (const auto& own : slots_) {
    for (const Variable& slot : own) named.push_back({slot.name(), &slot});
  }
  for (const Variable& slot : shared_) named.push_back({slot.name(), &slot});
  return named;
}

}  // namespace weft
