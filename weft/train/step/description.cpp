#include "weft/train/step/description.h"

#include <algorithm>

#include "weft/base/refusal.h"
#include "weft/graph/location.h"

namespace weft {
namespace {

// What a model carries from batch to batch has a place per example, so the size
// of a batch is part of its types; all others take batches of any size.
bool has_open_batches(const std::vector<Entry>& entries) {
  return std::ranges::none_of(entries, [](const Entry& entry) {
    return entry.role == EntryRole::kCarried;
  });
}

TensorType open_type(const BatchInput& input) {
  TensorType type = input.type;
  // One symbol serves all inputs, as they have equally many examples.
  type.shape[0] = symbol("N");
  // An axis that varies has a symbol by its name: those of two inputs that
  // share one are equally long.
  for (const int axis : input.varying) {
    const std::string& name =
        input.size_name.empty() ? input.name : input.size_name;
    type.shape[axis] = symbol(fmt::format("{}_{}", name, axis));
  }
  return type;
}

}  // namespace

EntryRole role_of(const nn::Parameter& parameter) {
  switch (parameter.role) {
    case nn::Role::kTrainable:
      return EntryRole::kParameter;
    case nn::Role::kFrozen:
      return EntryRole::kFrozen;
    case nn::Role::kMask:
      return EntryRole::kMask;
    case nn::Role::kStatistic:
      return EntryRole::kStatistic;
    case nn::Role::kCarried:
      return EntryRole::kCarried;
  }
  WEFT_CHECK(false, "an unknown role");
}

bool is_state(EntryRole role) {
  switch (role) {
    case EntryRole::kParameter:
    case EntryRole::kFrozen:
    case EntryRole::kMask:
    case EntryRole::kStatistic:
    case EntryRole::kCarried:
    case EntryRole::kSlot:
      return true;
    default:
      return false;
  }
}

StepDescription::StepDescription(nn::Module& model, const TrainingTask& task,
                                 std::vector<BatchInput> inputs,
                                 const StepOptions& options,
                                 const Optimizer* optimizer)
    : model_(&model),
      task_(&task),
      optimizer_(optimizer),
      options_(options),
      inputs_(std::move(inputs)) {
  for (const auto& [name, parameter] : model.parameters()) {
    const LayerScope scope(name);
    add({name, role_of(*parameter), parameter->type(),
         nn::own_value_of(*parameter).tensor()});
  }
  // Slots stand behind the parameters, of which some are copies at first.
  add_slots();
  add_controls();
  add_inputs();
  add_measures();
  add_gradients();
}

StepDescription::StepDescription(const Optimizer& optimizer,
                                 std::span<const NamedTensor> parameters,
                                 double clip_norm)
    : optimizer_(&optimizer) {
  options_.clip_norm = clip_norm;
  for (const auto& [name, tensor] : parameters) {
    add({name, EntryRole::kParameter, tensor.type(), tensor});
  }
  add_slots();
  add_controls();
  add_gradients();
}

StepDescription StepDescription::with_inputs(
    std::vector<BatchInput> inputs) const {
  StepDescription result = *this;
  result.inputs_ = std::move(inputs);
  const auto is_input = [](const Entry& entry) {
    return entry.role == EntryRole::kInput;
  };
  // The inputs keep their place, so indices of other entries stay good where
  // there are as many.
  WEFT_CHECK(result.inputs_.size() == inputs_.size(),
             "a held-out part has the features of the training part");
  auto place = std::ranges::find_if(result.entries_, is_input);
  const bool is_open = has_open_batches(entries_);
  for (const BatchInput& input : result.inputs_) {
    *place++ = {input.name,
                EntryRole::kInput,
                is_open ? open_type(input) : input.type,
                {}};
  }
  return result;
}

StepDescription StepDescription::with_options(
    const StepOptions& options) const {
  StepDescription result = *this;
  result.options_ = options;
  for (Entry& entry : result.entries_) {
    // The seed is an option, too, and stands in the key.
    if (entry.role == EntryRole::kKey) entry.memory = result.first_key();
  }
  return result;
}

StepDescription StepDescription::in_use(
    const Optimizer& optimizer, std::span<const NamedTensor> state) const {
  StepDescription result = *this;
  // What stands in for parameters is not what changes.
  result.optimizer_ = nullptr;
  for (Entry& entry : result.entries_) {
    if (entry.role != EntryRole::kParameter) continue;
    const std::string name = used_name(optimizer, {entry.name, entry.type});
    if (name == entry.name) continue;
    const auto found = std::ranges::find(state, name, &NamedTensor::name);
    if (found == state.end()) {
      throw refused("optimizer", in_quotes(name),
                    {"this policy of workers",
                     "it is to be measured with, and lies with another worker",
                     "sync.policy = \"allreduce\", or evaluate=false"});
    }
    entry.memory = found->tensor;
  }
  return result;
}

// The seed, and the number of the step, which each run writes.
Tensor StepDescription::first_key() const {
  return Tensor::of<std::int64_t>(
      {2}, {static_cast<std::int64_t>(options_.seed), 0});
}

std::size_t StepDescription::add(Entry entry) {
  entries_.push_back(std::move(entry));
  return entries_.size() - 1;
}

void StepDescription::add_slots() {
  // Entries are added below, behind those that are looked at.
  const std::size_t parameters = entries_.size();
  for (std::size_t i = 0; i < parameters; ++i) {
    if (entries_[i].role != EntryRole::kParameter) continue;
    updated_.push_back({.parameter = i, .gradient = 0, .slots = {}});
    if (optimizer_ == nullptr) continue;
    // It is copied, as the list grows and may move.
    const Entry own = entries_[i];
    for (const Slot& slot : optimizer_->slots({own.name, own.type})) {
      updated_.back().slots.push_back(
          add({slot_name(slot, own.name), EntryRole::kSlot, slot.type,
               initial_slot(slot, own.memory)}));
    }
  }
  if (optimizer_ == nullptr) return;
  for (const Slot& slot : optimizer_->shared_slots()) {
    shared_slots_.push_back(add(
        {slot_name(slot), EntryRole::kSlot, slot.type, initial_slot(slot)}));
  }
}

void StepDescription::add_controls() {
  const auto take = [&](const char* name, EntryRole role, Tensor memory) {
    const TensorType type = memory.type();
    add({name, role, type, std::move(memory)});
  };
  take("key", EntryRole::kKey, first_key());
  take("lr", EntryRole::kRate, Tensor::scalar(0, DType::kF32));
  // Beyond 2^24 steps f32 would no longer count.
  take("step", EntryRole::kNumber, Tensor::scalar(0, DType::kF64));
  take("late", EntryRole::kLate, Tensor::scalar(0, DType::kF64));
  take("loss_weight", EntryRole::kLossWeight, Tensor::scalar(1, DType::kF32));
  if (options_.privacy) {
    take("present", EntryRole::kPresent, Tensor::zeros({DType::kF64, {2}}));
  }
}

void StepDescription::add_inputs() {
  const bool is_open = has_open_batches(entries_);
  for (const BatchInput& input : inputs_) {
    add({input.name,
         EntryRole::kInput,
         is_open ? open_type(input) : input.type,
         {}});
  }
}

void StepDescription::add_measures() {
  const auto take = [&](const std::string& name, const Shape& shape) {
    const Tensor memory = Tensor::zeros({DType::kF32, shape});
    add({name, EntryRole::kMeasure, memory.type(), memory});
  };
  for (const MeasureDef& measure : task_->measures()) {
    // Sums and counts are kept apart, so that batches of different sizes add
    // up.
    take(measure.name + ".sum",
         measure.size == 1 ? Shape{} : Shape{measure.size});
    take(measure.name + ".count", {});
  }
  if (options_.privacy) {
    const Tensor memory = Tensor::zeros({DType::kI64, {}});
    add({"broken", EntryRole::kBroken, memory.type(), memory});
  }
}

void StepDescription::add_gradients() {
  for (Updated& each : updated_) {
    const Entry own = entries_[each.parameter];
    // The memory comes from whoever wants gradients: set_gradients().
    each.gradient =
        add({"gradient." + own.name, EntryRole::kGradient, own.type, {}});
  }
}

std::vector<NamedTensor> StepDescription::tensors(EntryRole role) const {
  std::vector<NamedTensor> result;
  for (const Entry& entry : entries_) {
    if (entry.role == role) result.push_back({entry.name, entry.memory});
  }
  return result;
}

std::vector<NamedTensor> StepDescription::state() const {
  std::vector<NamedTensor> result;
  for (const Entry& entry : entries_) {
    if (is_state(entry.role)) result.push_back({entry.name, entry.memory});
  }
  return result;
}

void StepDescription::set_gradients(const std::vector<Tensor>& gradients) {
  WEFT_CHECK(gradients.size() == updated_.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Entry& entry = entries_[updated_[i].gradient];
    WEFT_CHECK(gradients[i].type() == entry.type, "gradient of '{}'",
               entry.name);
    entry.memory = gradients[i];
  }
}

}  // namespace weft
