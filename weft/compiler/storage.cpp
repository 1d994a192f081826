#include "weft/compiler/storage.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "weft/graph/known_ops.h"
#include "weft/tensor/allocator.h"

namespace weft {
namespace {

// A run within the operand or the result of a step that has one node.
const Node* only_node(const Function& function, const PlanStep& step) {
  const bool is_one = !step.loop && step.parts.empty();
  return is_one ? &function.node(step.nodes.front()) : nullptr;
}

std::size_t last_of(const std::vector<std::size_t>& steps) {
  return steps.empty() ? 0 : *std::max_element(steps.begin(), steps.end());
}

}  // namespace

Storage::Storage(const Function& function, std::vector<PlanStep>& steps,
                 const std::vector<ValueId>& overwritten)
    : function_(function),
      places_(function.value_count()),
      readers_(function.value_count()),
      escapes_(function.value_count(), false),
      is_view_(function.value_count(), false),
      is_decided_(steps.size(), false) {
  find_views();
  find_readers(steps);
  // Parts first: an operand of a concatenation that is a part of something else
  // has a place already.
  place_parts(steps, overwritten);
  for (const PlanStep& step : steps) {
    if (const Node* node = only_node(function, step)) place_operands(*node);
  }
  remove_copies(steps);
}

Storage::Span Storage::of(ValueId id) const {
  Span span{id};
  // A part may lie in what is itself a part of something else.
  while (const auto& place = places_[at(span.whole)]) {
    span = {place->whole, span.offset + place->offset};
  }
  return span;
}

bool Storage::is_whole(ValueId id) const {
  return bytes(of(id).whole) == bytes(id);
}

void Storage::find_views() {
  for (const Node& node : function_.nodes()) {
    if (node.op->has(kView)) put(node.outputs[0], {node.inputs[0]});
  }
  // A result that is a view is copied as the bytes behind it.
  for (const ValueId id : function_.results())
    escapes_[at(of(id).whole)] = true;
}

void Storage::find_readers(const std::vector<PlanStep>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const ValueId id : steps[i].inputs) {
      readers_[at(of(id).whole)].push_back(i);
    }
  }
}

void Storage::put(ValueId part, Span place) {
  places_[at(part)] = place;
  auto& own = readers_[at(part)];
  // Who reads the part reads the whole's memory, which must live as long.
  auto& all = readers_[at(of(part).whole)];
  all.insert(all.end(), own.begin(), own.end());
}

bool Storage::is_made_by_step(ValueId id) const {
  return !function_.is_parameter(id) &&
         *function_.node(function_.value(id).node).op != known::constant;
}

// --- Parts of operands ---------------------------------------------------

// Those that may be views of `whole`, by steps that nobody has decided on yet.
std::vector<Storage::Part> Storage::parts_of(
    ValueId whole, const std::vector<PlanStep>& steps) {
  std::vector<Part> parts;
  for (const std::size_t i : readers_[at(whole)]) {
    // A fused step has no memory between its nodes that a part could lie in.
    const Node* node = only_node(function_, steps[i]);
    if (is_decided_[i] || node == nullptr) continue;
    is_decided_[i] = true;
    for (const Run& run : results_in_operand(function_, *node)) {
      const ValueId value = node->outputs[run.index];
      const std::size_t offset = of(node->inputs[0]).offset + run.offset;
      // Kernels count on aligned operands, and a result of the run has memory
      // of the caller's.
      if (offset % kAlignment != 0 || bytes(value) == 0 ||
          escapes_[at(value)]) {
        continue;
      }
      parts.push_back({i, value, offset});
    }
  }
  return parts;
}

// Whether the bytes stay to the end of the run whoever reads them.
bool Storage::is_kept_anyway(ValueId whole,
                             const std::vector<ValueId>& overwritten) const {
  if (!is_made_by_step(whole)) {
    return std::find(overwritten.begin(), overwritten.end(), whole) ==
           overwritten.end();
  }
  return escapes_[at(whole)];
}

void Storage::place_parts(const std::vector<PlanStep>& steps,
                          const std::vector<ValueId>& overwritten) {
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const Node* node = only_node(function_, steps[step]);
    if (is_decided_[step] || node == nullptr || node->inputs.empty()) continue;
    const ValueId whole = of(node->inputs[0]).whole;
    const std::vector<Part> parts = parts_of(whole, steps);
    if (parts.empty()) continue;
    // Until when others need the whole, and how much of it is needed later.
    std::unordered_set<std::size_t> makers;
    for (const Part& part : parts) makers.insert(part.step);
    std::size_t end = 0;
    for (const std::size_t i : readers_[at(whole)]) {
      if (!makers.contains(i)) end = std::max(end, i);
    }
    if (is_kept_anyway(whole, overwritten)) {
      end = std::numeric_limits<std::size_t>::max();
    }
    const auto is_late = [&](const Part& part) {
      return last_of(readers_[at(part.value)]) > end;
    };
    std::size_t late_bytes = 0;
    for (const Part& part : parts) {
      if (is_late(part)) late_bytes += bytes(part.value);
    }
    // A part that is needed when the rest no longer is keeps the whole alive.
    // That is worth it only if the parts are most of it.
    const bool may_be_late = 2 * late_bytes >= bytes(whole);
    for (const Part& part : parts) {
      if (!may_be_late && is_late(part)) continue;
      put(part.value, {whole, part.offset});
      is_view_[at(part.value)] = true;
    }
  }
}

// --- Operands of concatenations ------------------------------------------

void Storage::place_operands(const Node& node) {
  for (const Run& run : operands_in_result(function_, node)) {
    const Span operand = of(node.inputs[run.index]);
    // What is put there is a buffer of its own so far, all of which the operand
    // is: no argument, no part, nobody's result.
    if (run.offset % kAlignment == 0 && is_whole(node.inputs[run.index]) &&
        bytes(operand.whole) > 0 && is_made_by_step(operand.whole) &&
        !escapes_[at(operand.whole)]) {
      put(operand.whole, {node.outputs[0], run.offset});
    }
  }
}

// --- What is left to copy ------------------------------------------------

void Storage::remove_copies(std::vector<PlanStep>& steps) {
  std::vector<PlanStep> left;
  for (PlanStep& step : steps) {
    if (const Node* node = only_node(function_, step)) {
      const bool is_concat = !operands_in_result(function_, *node).empty();
      step = is_concat ? without_operands(std::move(step), *node)
                       : without_parts(std::move(step), *node);
      if (step.nodes.empty()) continue;
    }
    left.push_back(std::move(step));
  }
  steps = std::move(left);
}

// The step that comes back has no nodes if nothing is left.
PlanStep Storage::without_parts(PlanStep step, const Node& node) {
  const std::vector<Run> runs = results_in_operand(function_, node);
  const auto is_view = [&](ValueId id) { return is_view_[at(id)]; };
  if (std::none_of(node.outputs.begin(), node.outputs.end(), is_view)) {
    return step;
  }
  uncopied_.push_back(step.nodes.front());
  step.outputs.clear();
  for (const Run& run : runs) {
    const ValueId part = node.outputs[run.index];
    if (is_view(part)) {
      uncopied_bytes_ += bytes(part);
      continue;
    }
    step.copies.push_back({0, step.outputs.size(), run.offset, 0, bytes(part)});
    step.outputs.push_back(part);
  }
  if (step.copies.empty()) step.nodes.clear();
  return step;
}

PlanStep Storage::without_operands(PlanStep step, const Node& node) {
  const Span whole = of(node.outputs[0]);
  std::vector<PartCopy> copies;
  std::vector<ValueId> inputs;
  std::size_t in_place = 0;
  for (const Run& run : operands_in_result(function_, node)) {
    const ValueId operand = node.inputs[run.index];
    // What made the operand has written it there already.
    if (of(operand) == Span{whole.whole, whole.offset + run.offset}) {
      in_place += bytes(operand);
      continue;
    }
    copies.push_back({inputs.size(), 0, 0, run.offset, bytes(operand)});
    inputs.push_back(operand);
  }
  if (in_place == 0) return step;
  uncopied_.push_back(step.nodes.front());
  uncopied_bytes_ += in_place;
  step.inputs = std::move(inputs);
  step.copies = std::move(copies);
  if (step.copies.empty()) step.nodes.clear();
  return step;
}

}  // namespace weft
