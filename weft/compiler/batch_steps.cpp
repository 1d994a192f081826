#include "weft/compiler/batch_steps.h"

#include <algorithm>

#include "weft/base/index.h"
#include "weft/compiler/step_bytes.h"
#include "weft/graph/registry.h"

namespace weft {

bool contains(const StepList& steps, std::size_t i) {
  return std::find(steps.begin(), steps.end(), i) != steps.end();
}

BatchSteps::BatchSteps(const Function& function, std::vector<PlanStep> steps)
    : function_(function), steps_(std::move(steps)) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const ValueId id : steps_[i].outputs) maker_[id] = i;
    roles_.push_back(batch_roles(function_, steps_[i]));
  }
  // What a step reads comes before it, so that it is known what that is.
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    is_transform_.push_back(can_be_repeated(i));
  }
  find_readers();
}

std::optional<std::size_t> BatchSteps::maker(ValueId id) const {
  const auto found = maker_.find(storage_of(function_, id));
  return found == maker_.end() ? std::nullopt : std::optional(found->second);
}

const StepList& BatchSteps::readers(ValueId id) const {
  static const StepList none;
  const auto found = readers_.find(storage_of(function_, id));
  return found == readers_.end() ? none : found->second;
}

bool BatchSteps::is_sum(ValueId id) const {
  const auto made = maker(id);
  if (!made || !roles_[*made]) return false;
  const std::vector<ValueId>& outputs = steps_[*made].outputs;
  const auto found = std::ranges::find(outputs, storage_of(function_, id));
  return roles_[*made]->results[at(found - outputs.begin())] !=
         BatchRoles::kEach;
}

bool BatchSteps::is_concat(std::size_t i) const {
  static const OpDef& concat = op_registry().get("concat");
  return !steps_[i].loop && function_.node(steps_[i].nodes[0]).op == &concat;
}

// One pass over stored values that are no larger than what it makes of them. A
// pass over what another such pass makes is none: its results are stored, so
// that nothing is computed again through a whole network.
bool BatchSteps::can_be_repeated(std::size_t i) const {
  if (!roles_[i] || has_sums(i) || !(steps_[i].loop || is_concat(i))) {
    return false;
  }
  double read = 0;
  for (const auto& [id, part] : leaves(i)) {
    const auto made = maker(id);
    if (made && is_transform_[*made]) return false;
    read += bytes(id) * part;
  }
  // A chain of concatenations would be copied anew by each of its links.
  const auto is_joined = [&](ValueId id) {
    const auto made = maker(id);
    return made && is_transform_[*made];
  };
  if (is_concat(i) && std::any_of(steps_[i].inputs.begin(),
                                  steps_[i].inputs.end(), is_joined)) {
    return false;
  }
  double largest = 0;
  for (const ValueId id : steps_[i].outputs) {
    largest = std::max(largest, bytes(id));
  }
  return read <= largest;
}

// What a step reads of each example, with the operands of concatenations that
// are transforms in their place.
BatchSteps::PartsRead BatchSteps::leaves(std::size_t i) const {
  PartsRead all;
  for (std::size_t k = 0; k < steps_[i].inputs.size(); ++k) {
    if (!roles_[i]->is_each[k]) continue;
    const ValueId id = steps_[i].inputs[k];
    const auto made = maker(id);
    if (made && is_transform_[*made] && is_concat(*made)) {
      for (const auto& [leaf, part] : leaves(*made)) add_read(all, leaf, part);
    } else {
      add_read(all, id, part_read(function_, steps_[i], k));
    }
  }
  return all;
}

// The transforms of which a step reads each example, behind those that they
// read themselves.
void BatchSteps::add_transforms(std::size_t i,
                                const std::vector<bool>& in_memory,
                                StepList& parts) const {
  for (std::size_t k = 0; k < steps_[i].inputs.size(); ++k) {
    const auto made = maker(steps_[i].inputs[k]);
    if (!made || !roles_[i]->is_each[k] || !is_transform_[*made] ||
        (!in_memory.empty() && in_memory[*made]) || contains(parts, *made)) {
      continue;
    }
    add_transforms(*made, in_memory, parts);
    parts.push_back(*made);
  }
}

StepList BatchSteps::with_transforms(const StepList& members,
                                     const std::vector<bool>& in_memory) const {
  StepList parts;
  for (const std::size_t i : members) {
    add_transforms(i, in_memory, parts);
    parts.push_back(i);
  }
  return parts;
}

std::set<std::size_t> BatchSteps::sources(std::size_t i) const {
  std::set<std::size_t> all;
  add_sources(i, all);
  return all;
}

void BatchSteps::add_sources(std::size_t i, std::set<std::size_t>& all) const {
  for (const ValueId id : steps_[i].inputs) {
    const auto made = maker(id);
    if (!made) continue;
    if (is_transform_[*made]) {
      add_sources(*made, all);
    } else {
      all.insert(*made);
    }
  }
}

void BatchSteps::find_readers() {
  const auto add = [&](ValueId id, std::size_t reader) {
    readers_[storage_of(function_, id)].push_back(reader);
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (is_transform_[i]) continue;
    const StepList parts = roles_[i] ? with_transforms({i}) : StepList{i};
    for (const std::size_t part : parts) {
      for (const ValueId id : steps_[part].inputs) add(id, i);
    }
  }
  for (const ValueId id : function_.results()) add(id, steps_.size());
}

BatchSteps::PartsRead BatchSteps::each_of(const StepList& parts) const {
  PartsRead all;
  for (const std::size_t i : parts) {
    for (std::size_t k = 0; k < steps_[i].inputs.size(); ++k) {
      if (!roles_[i]->is_each[k]) continue;
      add_read(all, storage_of(function_, steps_[i].inputs[k]),
               part_read(function_, steps_[i], k));
    }
    for (std::size_t k = 0; k < steps_[i].outputs.size(); ++k) {
      if (roles_[i]->results[k] == BatchRoles::kEach) {
        add_read(all, steps_[i].outputs[k],
                 part_written(function_, steps_[i], k));
      }
    }
  }
  return all;
}

void BatchSteps::add_read(PartsRead& all, ValueId id, double part) {
  double& most = all[id];
  most = std::max(most, part);
}

double BatchSteps::example_bytes(const StepList& parts) const {
  double sum = 0;
  for (const auto& [id, part] : each_of(parts)) sum += bytes(id) * part;
  return sum / static_cast<double>(roles_[parts[0]]->examples);
}

double BatchSteps::moved_alone(std::size_t i) const {
  return moved_bytes(function_, steps_[i]);
}

}  // namespace weft
