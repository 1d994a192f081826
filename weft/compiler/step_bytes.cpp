#include "weft/compiler/step_bytes.h"

#include <algorithm>
#include <utility>

#include "weft/base/index.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

// The node of a step that puts a slice into a value; null for other steps.
const Node* update_of(const Function& function, const PlanStep& step) {
  if (step.loop || step.nodes.size() != 1) return nullptr;
  const Node& node = function.node(step.nodes[0]);
  return *node.op == known::dynamic_update_slice ? &node : nullptr;
}

// The part of a step that makes an output, and its place there.
std::pair<const PlanStep*, std::size_t> maker_among_parts(const PlanStep& step,
                                                          std::size_t output) {
  for (const PlanStep& part : step.parts) {
    const auto found = std::ranges::find(part.outputs, step.outputs[output]);
    if (found != part.outputs.end()) {
      return {&part, at(found - part.outputs.begin())};
    }
  }
  return {nullptr, 0};
}

}  // namespace

std::optional<std::size_t> updated_input(const Function& function,
                                         const PlanStep& step,
                                         std::size_t output) {
  const PlanStep* own =
      step.parts.empty() ? &step : maker_among_parts(step, output).first;
  const Node* update = own == nullptr ? nullptr : update_of(function, *own);
  if (update == nullptr) return std::nullopt;
  const ValueId whole = storage_of(function, update->inputs[0]);
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (storage_of(function, step.inputs[i]) == whole) return i;
  }
  return std::nullopt;
}

double part_read(const Function& function, const PlanStep& step,
                 std::size_t input) {
  if (!step.parts.empty()) {
    double most = 0;
    for (const PlanStep& part : step.parts) {
      for (std::size_t i = 0; i < part.inputs.size(); ++i) {
        if (storage_of(function, part.inputs[i]) != step.inputs[input])
          continue;
        most = std::max(most, part_read(function, part, i));
      }
    }
    return most;
  }
  if (update_of(function, step) != nullptr) return input == 0 ? 0 : 1;
  if (!step.loop) return 1;
  const std::size_t number = step.loop_inputs[input];
  const auto& columns = step.loop->inputs[number].columns;
  if (columns.empty()) return 1;
  // The values of one input of the program follow each other.
  const auto first = std::ranges::find(step.loop_inputs, number);
  const auto& part = columns[input - static_cast<std::size_t>(
                                         first - step.loop_inputs.begin())];
  return static_cast<double>(part.width) / static_cast<double>(part.row);
}

double part_written(const Function& function, const PlanStep& step,
                    std::size_t output) {
  if (const auto [part, own] = maker_among_parts(step, output); part) {
    return part_written(function, *part, own);
  }
  const Node* update = update_of(function, step);
  if (update == nullptr) return 1;
  return static_cast<double>(function.type(update->inputs[1]).bytes()) /
         static_cast<double>(function.type(update->outputs[0]).bytes());
}

double moved_bytes(const Function& function, const PlanStep& step) {
  double bytes = 0;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    bytes += static_cast<double>(function.type(step.inputs[i]).bytes()) *
             part_read(function, step, i);
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    bytes += static_cast<double>(function.type(step.outputs[i]).bytes()) *
             part_written(function, step, i);
  }
  return bytes;
}

}  // namespace weft
