#include "weft/optim/variable_updater.h"

#include "weft/graph/context.h"
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

}  // namespace

VariableUpdater::VariableUpdater(std::unique_ptr<Optimizer> optimizer,
                                 std::vector<VariableRef> variables, double lr)
    : optimizer_(std::move(optimizer)),
      variables_(std::move(variables)),
      // The rate is a variable, so that a compiled step need not be compiled
      // again where it changes.
      learning_rate_(
          statistic(Tensor::scalar(static_cast<float>(lr)), "learning_rate")),
      step_(statistic(Tensor::scalar(0.0), "step")) {
  for (const VariableRef& variable : variables_) {
    std::vector<Variable>& own = slots_.emplace_back();
    for (const Slot& slot :
         optimizer_->slots({variable->name, variable->type})) {
      own.push_back(statistic(initial_slot(slot, variable->value),
                              variable->name + "." + slot.name));
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
  // Steps count from 1, as bias corrections need it.
  step_.assign_add(Tensor::scalar(1.0));
  Context& context = current_context();
  // All is read before anything is assigned, as an optimizer may look at all
  // parameters.
  std::vector<ParameterStep> steps;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    steps.push_back({.name = variables_[i]->name,
                     .parameter = context.read(variables_[i]),
                     .gradient = gradients[i],
                     .slots = values_of(slots_[i])});
  }
  // Tables of which few rows have a gradient are updated in these alone.
  const TouchedRows touched(*optimizer_, steps);
  std::vector<Value> shared = values_of(shared_);
  optimizer_->update(steps, shared, {learning_rate_.read(), step_.read()});
  touched.put_back(steps);
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
    const auto slot = stand_in(*optimizer_, {own->name, own->type});
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
