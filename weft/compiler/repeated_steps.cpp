#include "weft/compiler/repeated_steps.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace weft {
namespace {

class Repeater {
 public:
  Repeater(const Function& function, const std::vector<PlanStep>& steps)
      : from_(function),
        steps_(steps),
        latest_(function.value_count(), -1),
        is_returned_(function.value_count(), false),
        function_(function.name()) {
    for (const ValueId id : from_.parameters()) {
      latest_[at(id)] =
          function_.add_parameter(from_.type(id), from_.value(id).name);
    }
    for (const ValueId id : from_.results()) {
      is_returned_[at(storage_of(from_, id))] = true;
    }
  }

  RepeatedSteps repeat(const StepOrder& order) {
    std::vector<PlanStep> made;
    for (const std::size_t step : order) made.push_back(run(steps_[step]));
    function_.set_results(all(from_.results()));
    return {std::move(function_), std::move(made)};
  }

 private:
  PlanStep run(const PlanStep& step) {
    WEFT_CHECK(step.copies.empty(), "parts are placed when steps are ordered");
    PlanStep made;
    made.loop = step.loop;
    made.loop_inputs = step.loop_inputs;
    // What a step reads from memory was made before it, though nodes of its own
    // may compute the same once more.
    made.inputs = all(step.inputs);
    for (const NodeId id : step.nodes) {
      const Node& node = add(from_.node(id));
      made.nodes.push_back(static_cast<NodeId>(function_.nodes().size() - 1));
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        inside_[from_.node(id).outputs[i]] = node.outputs[i];
      }
    }
    for (const ValueId id : step.outputs) {
      made.outputs.push_back(inside_.at(id));
      ValueId& latest = latest_[at(id)];
      if (latest < 0 || !is_returned_[at(id)]) latest = inside_.at(id);
    }
    inside_.clear();
    return made;
  }

  const Node& add(const Node& node) {
    std::vector<ValueId> inputs = all(node.inputs);
    return function_.add_node(*node.op, std::move(inputs), node.attributes,
                              node.location);
  }

  std::vector<ValueId> all(const std::vector<ValueId>& ids) {
    std::vector<ValueId> found;
    for (const ValueId id : ids) found.push_back(value(id));
    return found;
  }

  // What stands for a value now.
  ValueId value(ValueId id) {
    const auto inside = inside_.find(id);
    if (inside != inside_.end()) return inside->second;
    if (latest_[at(id)] >= 0) return latest_[at(id)];
    const Node& node = from_.node(from_.value(id).node);
    // A view that reads several values is there for the order alone
    // (ops/after.h), which the steps have.
    if (node.op->has(kView) && node.inputs.size() > 1) {
      return value(node.inputs[0]);
    }
    // The rest are constants and views, and what loops took inside: none is a
    // step, and they are there once for each value that they are made from.
    const std::pair key(from_.value(id).node, all(node.inputs));
    const auto known = passive_.find(key);
    const std::vector<ValueId>& outputs =
        known != passive_.end() ? known->second
                                : passive_[key] = add(node).outputs;
    const auto which = std::ranges::find(node.outputs, id);
    return outputs[static_cast<std::size_t>(which - node.outputs.begin())];
  }

  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  const Function& from_;
  const std::vector<PlanStep>& steps_;
  std::vector<ValueId> latest_;    // by value: of parameters and outputs
  std::vector<bool> is_returned_;  // by value
  std::unordered_map<ValueId, ValueId> inside_;  // the step that is being made
  std::map<std::pair<NodeId, std::vector<ValueId>>, std::vector<ValueId>>
      passive_;
  Function function_;
};

}  // namespace

RepeatedSteps repeat_steps(const Function& function,
                           const std::vector<PlanStep>& steps,
                           const StepOrder& order) {
  return Repeater(function, steps).repeat(order);
}

}  // namespace weft
