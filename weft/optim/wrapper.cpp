#include "weft/optim/wrapper.h"

#include <algorithm>
#include <iterator>

#include "weft/base/call_reader.h"

namespace weft {
namespace {

// The first `count` of `values`, which keep the rest.
std::vector<Value> take_front(std::vector<Value>& values, std::size_t count) {
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Value> front(std::make_move_iterator(values.begin()),
                           std::make_move_iterator(end));
  values.erase(values.begin(), end);
  return front;
}

}  // namespace

std::vector<Slot> OptimizerWrapper::slots(
    const ParameterInfo& parameter) const {
  std::vector<Slot> all = own_slots(parameter);
  for (Slot& slot : inner_->slots(parameter)) all.push_back(std::move(slot));
  return all;
}

std::vector<Slot> OptimizerWrapper::shared_slots() const {
  std::vector<Slot> all = own_shared_slots();
  for (Slot& slot : inner_->shared_slots()) all.push_back(std::move(slot));
  return all;
}

void OptimizerWrapper::update(std::span<ParameterStep> parameters,
                              std::span<Value> shared,
                              const StepTime& time) const {
  Own own;
  // The inner optimizer must find its own slots from the first on, as if
  // nothing were around it.
  for (ParameterStep& step : parameters) {
    const std::size_t count =
        own_slots({step.name, step.parameter.type()}).size();
    own.of_parameter.push_back(take_front(step.slots, count));
  }
  const std::size_t count = own_shared_slots().size();
  own.shared.assign(shared.begin(),
                    shared.begin() + static_cast<std::ptrdiff_t>(count));
  update_around(parameters, shared.subspan(count), own, time);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto& slots = parameters[i].slots;
    slots.insert(slots.begin(), own.of_parameter[i].begin(),
                 own.of_parameter[i].end());
  }
  std::ranges::copy(own.shared, shared.begin());
}

std::unique_ptr<Optimizer> wrap_optimizer(
    std::unique_ptr<Optimizer> optimizer,
    const std::vector<std::string>& wrappers,
    const std::vector<std::string>& outside) {
  std::vector<std::string_view> names;
  for (const std::string& text : outside) {
    names.push_back(name_of_call(text, "optimizer.wrap"));
  }
  for (const std::string& text : wrappers) {
    const auto call =
        parse_call(text, optimizer_wrapper_registry(), "optimizer.wrap");
    // Their slots have the same names.
    if (std::ranges::count(names, call.def->name) > 0) {
      throw Error(ErrorCode::kInvalidArgument, "optimizer.wrap",
                  "'{}' is there twice", call.def->name);
    }
    names.push_back(call.def->name);
    optimizer = call.def->make(std::move(optimizer), call.options);
  }
  // This tries the wrappers out on a parameter that stands in for any; what
  // groups have of their own is seen when there are some.
  stand_in(*optimizer, {"", {DType::kF32, {1}}});
  return optimizer;
}

}  // namespace weft
