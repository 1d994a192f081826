#include "weft/optim/variable_updater.h"

#include "weft/graph/context.h"
#include "weft/optim/row_gradient.h"

namespace weft {
namespace {

Variable statistic(const Tensor& initial, std::string name) {
  return Variable(initial, {.name = std::move(name), .is_trainable = false});
}

Optimizer::Update next_of(const Optimizer& optimizer, const Value& value,
                          const Value& gradient, std::span<const Value> slots,
                          std::span<const Value> scalars) {
  if (optimizer.keeps_without_gradient()) {
    // The rest of such a table has no gradient, and an optimizer of this kind
    // would leave it as it is.
    if (const auto found = row_gradient(gradient)) {
      return update_rows(optimizer, value, *found, slots, scalars);
    }
  }
  return optimizer.update(value, gradient, slots, scalars);
}

}  // namespace

VariableUpdater::VariableUpdater(std::unique_ptr<Optimizer> optimizer,
                                 std::vector<VariableRef> variables, double lr)
    : optimizer_(std::move(optimizer)),
      variables_(std::move(variables)),
      learning_rate_(
          statistic(Tensor::scalar(static_cast<float>(lr)), "learning_rate")),
      step_(statistic(Tensor::scalar(0.0), "step")) {
  for (const VariableRef& variable : variables_) {
    std::vector<Variable>& own = slots_.emplace_back();
    for (const std::string& slot : optimizer_->slots()) {
      own.push_back(statistic(Tensor::zeros(variable->type),
                              variable->name + "." + slot));
    }
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
  const auto scalars = optimizer_->scalars(learning_rate_.read(), step_.read());
  Context& context = current_context();
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    std::vector<Value> slots;
    for (const Variable& slot : slots_[i]) slots.push_back(slot.read());
    const Optimizer::Update next = next_of(
        *optimizer_, context.read(variables_[i]), gradients[i], slots, scalars);
    context.assign(variables_[i], next.parameter);
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      slots_[i][slot].assign(next.slots[slot]);
    }
  }
}

std::vector<VariableUpdater::NamedSlot> VariableUpdater::slots() const {
  std::vector<NamedSlot> named;
  for (const auto& own : slots_) {
    for (const Variable& slot : own) named.push_back({slot.name(), &slot});
  }
  return named;
}

}  // namespace weft
