#include "weft/compiler/steps.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "weft/compiler/loop_groups.h"
#include "weft/graph/kernel.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

// Writes the program of one group.
class LoopBuilder {
 public:
  LoopBuilder(const Function& function, const LoopGroups& groups, int group)
      : function_(function), groups_(groups), group_(group) {}

  // Nothing if no member has to be seen from outside.
  std::optional<PlanStep> build() {
    const std::vector<NodeId> members = groups_.members(group_);
    program_.shape = groups_.loop_shape(members.front());
    program_.type = groups_.loop_type(members.front());
    for (const NodeId member : members) {
      const Node& node = function_.node(member);
      const ValueId value = node.outputs[0];
      // Values that stay inside live in registers or in the first-level cache.
      const bool is_seen =
          groups_.is_stored(value) && groups_.is_read_outside(value);
      if (groups_.is_sum(member) || is_seen) outputs_.push_back(value);
    }
    if (outputs_.empty()) return std::nullopt;
    // Inputs are numbered before instructions, so they are found first.
    for (const ValueId value : outputs_) collect_inputs(result_operand(value));
    for (const ValueId value : outputs_) add_output(value);
    PlanStep step;
    step.nodes = nodes_;
    // They were written as they were needed; people read them in the order of
    // the function.
    std::sort(step.nodes.begin(), step.nodes.end());
    // Several parts of a split may be read.
    step.nodes.erase(std::unique(step.nodes.begin(), step.nodes.end()),
                     step.nodes.end());
    step.inputs = inputs_;
    step.outputs = outputs_;
    step.loop_inputs = loop_inputs_;
    step.loop = std::move(program_);
    return step;
  }

 private:
  // A sum accumulates its operand; everything else is its own operand.
  ValueId result_operand(ValueId value) const {
    const NodeId id = function_.value(value).node;
    return groups_.is_sum(id) ? function_.node(id).inputs[0] : value;
  }

  void collect_inputs(ValueId value) {
    if (numbers_.contains(value)) return;
    if (!groups_.computes(group_, value)) {
      add_input(value);
      return;
    }
    if (!visited_.insert(value).second) return;
    const Node& node = function_.node(function_.value(value).node);
    for (const ValueId input : node.inputs) collect_inputs(input);
  }

  void add_input(ValueId value) {
    const auto immediate = loop_immediate(function_, value);
    const ValueId source = immediate ? value : loop_source(function_, value);
    numbers_[value] = static_cast<int>(program_.inputs.size());
    // A number that stands in the program goes into the code, and a repeated
    // value is read where it is not repeated yet.
    program_.inputs.push_back({function_.type(source), immediate});
    if (immediate) return;
    if (groups_.is_read_in_parts(value)) return add_parts(value);
    if (const auto range = groups_.read_columns(value)) {
      return add_columns(value, *range);
    }
    read(source);
  }

  // What a concatenation would put side by side is read where it lies.
  void add_parts(ValueId value) {
    const NodeId id = function_.value(value).node;
    nodes_.push_back(id);
    for (const ValueId part : function_.node(id).inputs) {
      const Dim width = columns_in(part);
      program_.inputs.back().columns.push_back({width, width});
      read(part);
    }
  }

  // So are columns that would be cut out of a value.
  void add_columns(ValueId value, const ColumnRange& range) {
    nodes_.push_back(function_.value(value).node);
    program_.inputs.back().columns = {
        {columns_in(value), columns_in(range.whole), range.first}};
    read(range.whole);
  }

  Dim columns_in(ValueId value) const {
    return function_.type(value).shape.back();
  }

  void read(ValueId value) {
    loop_inputs_.push_back(program_.inputs.size() - 1);
    inputs_.push_back(value);
  }

  int emit(ValueId value) {
    // A value that several members read is computed once.
    if (const auto found = numbers_.find(value); found != numbers_.end()) {
      return found->second;
    }
    const NodeId id = function_.value(value).node;
    const Node& node = function_.node(id);
    const TileOp* found = find_tile_op(node.op->name(), program_.type);
    const DType dtype = function_.type(value).dtype;
    const TileOp op = found != nullptr
                          ? *found
                          : tile_cast(function_.type(node.inputs[0]).dtype,
                                      dtype, program_.type);
    LoopProgram::Instruction instruction(op, {});
    for (const ValueId input : node.inputs) {
      instruction.operands.push_back(emit(input));
    }
    if (op.parameters != nullptr) {
      instruction.parameters = op.parameters(node.attributes);
    }
    program_.instructions.push_back(std::move(instruction));
    nodes_.push_back(id);
    const int number = static_cast<int>(program_.inputs.size() +
                                        program_.instructions.size() - 1);
    numbers_[value] = number;
    // What selects returns one of its operands, which are rounded already, and
    // a cast has rounded. Among integers only that of a cast is safe: the
    // negative of the smallest one is no integer of its dtype.
    const bool needs_none =
        *node.op == known::cast || (selects(op.code) && is_floating(dtype));
    return needs_none ? number : round(number, dtype, value);
  }

  // What a narrow op returns has the precision of its dtype, whether or not
  // it passes through memory. Wide ones are computed in their own dtype.
  int round(int number, DType dtype, ValueId value) {
    const bool is_own = program_.type != TileType::kF32;
    if (is_own || dtype == DType::kF32 || dtype == DType::kBool) return number;
    program_.instructions.emplace_back(tile_cast(dtype, dtype),
                                       std::vector{number});
    return numbers_[value] = number + 1;
  }

  void add_output(ValueId value) {
    const NodeId id = function_.value(value).node;
    LoopProgram::Output output{emit(result_operand(value)),
                               function_.type(value)};
    if (groups_.is_sum(id)) {
      const Node& node = function_.node(id);
      nodes_.push_back(id);
      output.is_sum = true;
      if (*node.op == known::mean) {
        // The mean is the sum times results / elements: one over how many each
        // result adds up.
        output.scale = static_cast<double>(output.type.shape.num_elements()) /
                       static_cast<double>(program_.shape.num_elements());
      }
    }
    program_.outputs.push_back(output);
  }

  const Function& function_;
  const LoopGroups& groups_;
  int group_;
  LoopProgram program_;
  std::map<ValueId, int> numbers_;
  std::set<ValueId> visited_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<std::size_t> loop_inputs_;
};

bool takes_no_time(const Node& node) {
  return node.op->has(kView) || *node.op == known::constant;
}

PlanStep single_step(NodeId id, const Node& node) {
  PlanStep step;
  step.nodes = {id};
  step.inputs = node.inputs;
  step.outputs = node.outputs;
  return step;
}

// Whether the one node of a loop has a kernel that does better.
bool has_better_kernel(const Function& function, const PlanStep& loop) {
  // A loop of several nodes saves passes over memory, which a kernel of one of
  // them would not.
  if (loop.nodes.size() != 1 || loop.loop->outputs[0].is_sum) return false;
  const Node& node = function.node(loop.nodes.front());
  // What the loop takes inside, as a number, a kernel would have to be given.
  if (node.inputs != loop.inputs) return false;
  const auto inputs = function.input_types(node);
  const std::vector<TensorType> outputs{function.type(node.outputs[0])};
  const OpCall call{*node.op, inputs, node.attributes, outputs};
  for (const auto& candidate : kernel_registry().candidates(node.op->name())) {
    if (candidate.name == kLoopKernel) return false;
    // A kernel that widens its operands first is no better than a loop that
    // widens them on the way.
    if (candidate.widens) continue;
    if (!candidate.declines || !candidate.declines(call)) return true;
  }
  return false;
}

std::vector<PlanStep> unordered_steps(const Function& function) {
  const LoopGroups groups(function);
  std::vector<PlanStep> steps;
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = function.nodes()[i];
    // Their values are found by the plan: constants hold their tensor, and a
    // view has the address of its source.
    if (takes_no_time(node)) continue;
    if (!groups.is_loop_node(id)) {
      steps.push_back(single_step(id, node));
    } else if (groups.group_of(id) == id) {
      auto step = LoopBuilder(function, groups, id).build();
      if (!step) continue;
      steps.push_back(has_better_kernel(function, *step) ? single_step(id, node)
                                                         : std::move(*step));
    }
  }
  return steps;
}

// Drops steps whose every result is read by nobody: a broadcast or a constant
// that all its readers took inside.
void drop_unread(const Function& function, std::vector<PlanStep>& steps) {
  std::vector<int> maker(function.value_count(), -1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const ValueId id : steps[i].outputs) {
      maker[static_cast<std::size_t>(id)] = static_cast<int>(i);
    }
  }
  std::vector<bool> is_needed(steps.size(), false);
  std::vector<std::size_t> pending;
  const auto need = [&](std::size_t i) {
    if (is_needed[i]) return;
    is_needed[i] = true;
    pending.push_back(i);
  };
  const auto need_maker_of = [&](ValueId id) {
    const auto source = static_cast<std::size_t>(storage_of(function, id));
    if (maker[source] >= 0) need(static_cast<std::size_t>(maker[source]));
  };
  for (const ValueId id : function.results()) need_maker_of(id);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // Code of the program runs even if nobody reads what it gives.
    if (function.node(steps[i].nodes.front()).op->has(kHost)) need(i);
  }
  // What a needed step reads is needed in turn.
  while (!pending.empty()) {
    const std::size_t i = pending.back();
    pending.pop_back();
    for (const ValueId id : steps[i].inputs) need_maker_of(id);
  }
  std::vector<PlanStep> kept;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (is_needed[i]) kept.push_back(std::move(steps[i]));
  }
  steps = std::move(kept);
}

// Orders steps by their last node, as far as their operands allow: a value is
// made late, so that it lives short.
std::vector<PlanStep> in_order(const Function& function,
                               std::vector<PlanStep> steps) {
  std::map<ValueId, std::size_t> maker;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const ValueId id : steps[i].outputs) maker[id] = i;
  }
  std::vector<std::vector<std::size_t>> dependents(steps.size());
  std::vector<std::size_t> missing(steps.size(), 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::set<std::size_t> sources;
    for (const ValueId id : steps[i].inputs) {
      // An operand that no step makes is a parameter or a constant.
      const auto found = maker.find(storage_of(function, id));
      if (found != maker.end()) sources.insert(found->second);
    }
    // A step may read several results of another, and waits for it once.
    missing[i] = sources.size();
    for (const std::size_t source : sources) dependents[source].push_back(i);
  }
  using Entry = std::pair<NodeId, std::size_t>;
  // The step whose last node stands first goes first, among those that can run:
  // that keeps the order in which the function was written, so that the same
  // function has the same plan.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto push = [&](std::size_t i) {
    ready.emplace(
        *std::max_element(steps[i].nodes.begin(), steps[i].nodes.end()), i);
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (missing[i] == 0) push(i);
  }
  std::vector<PlanStep> ordered;
  while (!ready.empty()) {
    const std::size_t i = ready.top().second;
    ready.pop();
    ordered.push_back(std::move(steps[i]));
    for (const std::size_t next : dependents[i]) {
      if (--missing[next] == 0) push(next);
    }
  }
  WEFT_CHECK(ordered.size() == steps.size(), "the steps depend on each other");
  return ordered;
}

}  // namespace

ValueId storage_of(const Function& function, ValueId id) {
  while (!function.is_parameter(id)) {
    const Node& node = function.node(function.value(id).node);
    if (!node.op->has(kView)) break;
    id = node.inputs[0];
  }
  return id;
}

std::vector<PlanStep> form_steps(const Function& function, bool fuse) {
  if (fuse) {
    std::vector<PlanStep> steps = unordered_steps(function);
    drop_unread(function, steps);
    return in_order(function, std::move(steps));
  }
  // Without fusing, each op has a step of its own, in the order of the
  // function.
  std::vector<PlanStep> steps;
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    const Node& node = function.nodes()[i];
    if (takes_no_time(node)) continue;
    steps.push_back(single_step(static_cast<NodeId>(i), node));
  }
  return steps;
}

}  // namespace weft
