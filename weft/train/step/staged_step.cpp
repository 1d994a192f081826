#include "weft/train/step/staged_step.h"

#include <algorithm>
#include <set>

#include "weft/autodiff/gradient.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/clip.h"
#include "weft/optim/row_gradient.h"
#include "weft/train/step/mode_scope.h"
#include "weft/train/step/private_objective.h"

namespace weft {

StagedStep::StagedStep(const StepDescription& description, StepCut cut,
                       FunctionBuilder& builder)
    : description_(description),
      cut_(cut),
      values_(description.entries().size()) {
  const std::vector<Entry>& entries = description.entries();
  std::size_t begin = 0;
  if (runs_model(cut)) {
    // The model's values come first among the entries, and in its order.
    staged_.emplace(*description.model(), builder);
    for (; begin < staged_->arguments().size(); ++begin) {
      values_[begin] = staged_->arguments()[begin];
    }
  }
  std::size_t unknown =
      predicts(cut) ? description.task()->known_inputs() : entries.size();
  for (std::size_t i = begin; i < entries.size(); ++i) {
    if (!reads(cut, entries[i].role)) continue;
    // Inputs are the last that such a cut reads, and those that are known come
    // first among them.
    if (entries[i].role == EntryRole::kInput && unknown-- == 0) break;
    values_[i] = builder.parameter(entries[i].type, entries[i].name);
  }
}

std::vector<Value> StagedStep::compute() {
  std::vector<Value> results;
  if (predicts(cut_)) {
    results = predict();
  } else if (runs_model(cut_)) {
    measure();
  }
  if (cut_ == StepCut::kLookUp) results = look_up();
  if (updates(cut_)) update();
  const std::vector<Entry>& entries = description_.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (writes(cut_, entries[i].role)) results.push_back(values_[i]);
  }
  return results;
}

std::vector<Value> StagedStep::of_role(EntryRole role) const {
  std::vector<Value> found;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (description_.entries()[i].role == role && is_read(i)) {
      found.push_back(values_[i]);
    }
  }
  return found;
}

std::vector<Value> StagedStep::predict() {
  const RandomKeyScope random(only(EntryRole::kKey));
  const PrecisionScope precision(description_.options().dtype);
  const RecurrentWeightsScope weights(description_.options().recurrent_weights);
  const ModeScope mode(*description_.model(), /*is_training=*/false);
  std::vector<Value> predictions = description_.task()->prediction(
      *description_.model(), of_role(EntryRole::kInput));
  take_next_values();
  return predictions;
}

void StagedStep::measure() {
  const RandomKeyScope random(only(EntryRole::kKey));
  const PrecisionScope precision(description_.options().dtype);
  const RecurrentWeightsScope weights(description_.options().recurrent_weights);
  // The mode of this moment goes into the graph: dropout and the statistics
  // of batches are settled while it is built.
  const ModeScope mode(*description_.model(), differentiates(cut_));
  if (description_.options().privacy && differentiates(cut_)) {
    measure_privately();
    return;
  }
  const Objective objective = description_.task()->objective(
      *description_.model(), of_role(EntryRole::kInput));
  if (differentiates(cut_)) differentiate(objective.loss);
  take_next_values();
  set_measures(objective.measures);
}

void StagedStep::measure_privately() {
  const PrivateObjective objective =
      private_objective(description_, {.shared = staged_->arguments(),
                                       .key = only(EntryRole::kKey),
                                       .tensors = of_role(EntryRole::kInput),
                                       .present = only(EntryRole::kPresent)});
  for (std::size_t i = 0; i < objective.gradients.size(); ++i) {
    values_[description_.updated()[i].gradient] = objective.gradients[i];
  }
  set_measures(objective.measures);
  const auto broken = std::ranges::find(description_.entries(),
                                        EntryRole::kBroken, &Entry::role);
  values_[static_cast<std::size_t>(broken - description_.entries().begin())] =
      objective.broken;
}

// What forward() assigned are the next values of statistics, and of what is
// carried.
void StagedStep::take_next_values() {
  const std::vector<Value> next = staged_->values();
  std::copy(next.begin(), next.end(), values_.begin());
}

void StagedStep::set_measures(const std::vector<Measure>& measures) {
  std::vector<Value> parts;
  for (const Measure& measure : measures) {
    parts.insert(parts.end(), {measure.sum, measure.count});
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (description_.entries()[i].role != EntryRole::kMeasure) continue;
    WEFT_CHECK(next < parts.size(), "the task declares more measures");
    values_[i] = parts[next++];
  }
  WEFT_CHECK(next == parts.size(), "the task declares fewer measures");
}

void StagedStep::differentiate(const Value& loss) {
  std::vector<Value> wrt;
  for (const auto& each : description_.updated()) {
    wrt.push_back(values_[each.parameter]);
  }
  // The weight scales gradients alone; the loss is reported as it is.
  std::vector<Value> found = gradients(
      cut_ == StepCut::kGradients ? loss * only(EntryRole::kLossWeight) : loss,
      wrt);
  const double clip_norm = description_.options().clip_norm;
  // Gradients that are sent are clipped by each worker before; those of one
  // worker alone are clipped in update().
  if (cut_ == StepCut::kGradients && clip_norm > 0) {
    found = clip_by_global_norm(found, clip_norm);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    values_[description_.updated()[i].gradient] = found[i];
  }
}

// The indices [count] of each table of which nothing but the rows there are
// read or changed by kTrain, and that do not depend on what is trained.
std::vector<Value> StagedStep::look_up() {
  std::vector<Value> rows;
  const auto& updated = description_.updated();
  for (std::size_t i = 0; i < updated.size(); ++i) {
    const std::string& name = description_.entries()[updated[i].parameter].name;
    if (!description_.optimizer()->keeps_without_gradient(name)) continue;
    const Value& gradient = values_[updated[i].gradient];
    const auto found = row_gradient(gradient, usual_sizes());
    if (!found || !follows_from_batch(found->indices) ||
        !is_only_looked_up(values_[updated[i].parameter], gradient)) {
      continue;
    }
    tables_.push_back(i);
    rows.push_back(found->indices);
  }
  return rows;
}

// Whether it is computed from the batch, and what is drawn with it, alone.
bool StagedStep::follows_from_batch(const Value& value) const {
  FunctionBuilder& builder = *value.builder();
  std::set<ValueId> known;
  for (const EntryRole role : {EntryRole::kInput, EntryRole::kKey}) {
    for (const Value& each : of_role(role)) known.insert(builder.id_of(each));
  }
  std::vector<ValueId> wanted{builder.id_of(value)};
  while (!wanted.empty()) {
    const ValueId id = wanted.back();
    wanted.pop_back();
    if (!known.insert(id).second) continue;
    const Function& function = builder.function();
    if (function.is_parameter(id)) return false;
    const Node& node = function.node(function.value(id).node);
    wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
  }
  return true;
}

void StagedStep::update() {
  const Optimizer& optimizer = *description_.optimizer();
  std::vector<ParameterStep> steps;
  for (const auto& each : description_.updated()) {
    ParameterStep& step = steps.emplace_back();
    step.name = description_.entries()[each.parameter].name;
    step.parameter = values_[each.parameter];
    step.gradient = values_[each.gradient];
    for (const std::size_t slot : each.slots) {
      step.slots.push_back(values_[slot]);
    }
  }
  std::vector<Value> shared;
  for (const std::size_t slot : description_.shared_slots()) {
    shared.push_back(values_[slot]);
  }
  // Rows are picked before gradients are clipped: what clipping makes of the
  // rows is what it makes of the table (optim/row_gradient.h), and they are
  // fewer.
  const TouchedRows touched(optimizer, steps, usual_sizes());
  if (description_.options().clip_norm > 0) clip(steps);
  StepTime time{only(EntryRole::kRate), only(EntryRole::kNumber)};
  if (reads(cut_, EntryRole::kLate)) time.late = only(EntryRole::kLate);
  optimizer.update(steps, shared, time);
  touched.put_back(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& each = description_.updated()[i];
    values_[each.parameter] = steps[i].parameter;
    for (std::size_t s = 0; s < each.slots.size(); ++s) {
      values_[each.slots[s]] = steps[i].slots[s];
    }
  }
  for (std::size_t s = 0; s < shared.size(); ++s) {
    values_[description_.shared_slots()[s]] = shared[s];
  }
}

// Clips the gradients of all parameters together.
void StagedStep::clip(std::span<ParameterStep> steps) const {
  std::vector<Value> gradients;
  for (const ParameterStep& step : steps) gradients.push_back(step.gradient);
  // Rows of a table that are left out are zeros, which add nothing to the
  // norm.
  gradients = clip_by_global_norm(gradients, description_.options().clip_norm);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].gradient = gradients[i];
  }
}

// How many rows a full batch looks up decides whether a table is updated row
// by row.
Bindings StagedStep::usual_sizes() const {
  Bindings sizes;
  std::size_t input = 0;
  for (const Entry& entry : description_.entries()) {
    if (entry.role != EntryRole::kInput) continue;
    match(entry.type.shape, description_.inputs()[input++].type.shape, sizes);
  }
  return sizes;
}

}  // namespace weft
