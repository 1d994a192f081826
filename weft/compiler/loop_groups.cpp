#include "weft/compiler/loop_groups.h"

#include <algorithm>
#include <cmath>

#include "weft/compiler/contiguous.h"
#include "weft/graph/known_ops.h"
#include "weft/ops/support/axes.h"

namespace weft {
namespace {

// What a loop computes the node in, if one can.
std::optional<TileType> elementwise_type(const Function& function,
                                         const Node& node) {
  if (!node.op->has(kElementwise) || node.outputs.size() != 1 ||
      function.type(node.outputs[0]).shape.num_elements() == 0) {
    return std::nullopt;
  }
  const auto type = loop_type(node.op->name(), function.input_types(node),
                              function.output_types(node));
  // A cast has no tile function of its own: which one it is depends on its
  // dtype.
  if (!type || (*node.op != known::cast &&
                find_tile_op(node.op->name(), *type) == nullptr)) {
    return std::nullopt;
  }
  const DType dtype = function.type(node.inputs[0]).dtype;
  if (*type == TileType::kF32 && !is_exact_in_tile(node.op->name(), dtype)) {
    return std::nullopt;
  }
  return type;
}

// sum or mean over a prefix of the axes: an accumulation at the end of a
// loop. Axes of size 1 may be left out or named, it does not matter.
bool is_leading_sum(const Function& function, const Node& node) {
  if (*node.op != known::sum && *node.op != known::mean) return false;
  const TensorType& x = function.type(node.inputs[0]);
  if (!is_floating(x.dtype)) return false;
  // A loop of no iterations would not write its sums: a kernel does.
  if (x.shape.num_elements() == 0) return false;
  const Integers& axes = node.attributes.integers("axes");
  std::vector<bool> summed(static_cast<std::size_t>(x.shape.rank()),
                           axes.empty());
  for (const auto axis : axes) {
    summed[static_cast<std::size_t>(
        normalize_axis(axis, x.shape.rank(), node.op->name()))] = true;
  }
  // Then each row of the loop is added to one row of sums, element by element.
  // A sum over the last axis would add up within a row, across the lanes of a
  // vector.
  bool in_prefix = true;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    if (x.shape[axis] == 1) continue;
    const bool is_summed = summed[static_cast<std::size_t>(axis)];
    if (is_summed && !in_prefix) return false;
    in_prefix = in_prefix && is_summed;
  }
  return true;
}

}  // namespace

double flops_per_element(const Function& function, const Node& node) {
  const std::vector<TensorType> inputs = function.input_types(node);
  const std::vector<TensorType> outputs = function.output_types(node);
  // An op without a cost is one of a program's own, and so has no loop.
  return node.op->cost()({*node.op, inputs, node.attributes, outputs}).flops /
         static_cast<double>(outputs[0].shape.num_elements());
}

std::optional<double> loop_immediate(const Function& function, ValueId id) {
  if (function.is_parameter(id)) return std::nullopt;
  const Node& node = function.node(function.value(id).node);
  std::optional<double> number;
  if (*node.op == known::full) {
    // The number is rounded as the op rounds it: what is not exact in bf16 must
    // not be so in a loop.
    number =
        Tensor::scalar(node.attributes.real("value"), function.type(id).dtype)
            .item();
  }
  // One element is the same for the whole loop, and lies in an instruction.
  if (*node.op == known::constant &&
      function.type(id).shape.num_elements() == 1) {
    number = node.attributes.get<Tensor>("value").item();
  }
  // From there on an i64 may not be the double that stands for it.
  if (number && function.type(id).dtype == DType::kI64 &&
      std::fabs(*number) >= 0x1p53) {
    return std::nullopt;
  }
  return number;
}

ValueId loop_source(const Function& function, ValueId id) {
  while (!function.is_parameter(id)) {
    const Node& node = function.node(function.value(id).node);
    if (*node.op != known::broadcast_to) break;
    id = node.inputs[0];
  }
  return id;
}

LoopGroups::LoopGroups(const Function& function)
    : function_(function), groups_(function) {
  classify();
  form_groups();
  release_lone_sums();
  choose_stored();
}

bool LoopGroups::is_sum(NodeId node) const {
  return is_loop_node(node) && !function_.node(node).op->has(kElementwise);
}

double LoopGroups::bytes(ValueId value) const {
  // An immediate is part of the loop, and moves no bytes.
  if (loop_immediate(function_, value)) return 0;
  const ValueId source = loop_source(function_, value);
  return static_cast<double>(function_.type(source).bytes());
}

void LoopGroups::classify() {
  const std::size_t count = function_.nodes().size();
  loop_shape_.resize(count);
  loop_type_.resize(count);
  readers_.resize(function_.value_count());
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = function_.nodes()[i];
    if (const auto type = elementwise_type(function_, node)) {
      loop_shape_[i] = function_.type(node.outputs[0]).shape;
      loop_type_[i] = *type;
    } else if (is_leading_sum(function_, node)) {
      loop_shape_[i] = function_.type(node.inputs[0]).shape;
      loop_type_[i] = *tile_type(function_.input_types(node), {});
    }
    for (const ValueId id : node.inputs) {
      readers_[static_cast<std::size_t>(id)].push_back(static_cast<NodeId>(i));
    }
  }
  for (const ValueId id : function_.results()) {
    // A result has a reader outside of the function.
    readers_[static_cast<std::size_t>(id)].push_back(-1);
  }
}

void LoopGroups::form_groups() {
  for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!is_loop_node(id)) continue;
    // An op joins groups of its own iteration shape only; others run before it.
    std::set<int> candidates;
    for (const ValueId input : function_.nodes()[i].inputs) {
      if (function_.is_parameter(input)) continue;
      if (is_loop_node(producer(input)) && have_one_loop(producer(input), id)) {
        candidates.insert(group_of(producer(input)));
      }
    }
    // Nodes stand in topological order, so a node joins the groups of its
    // operands, and these may join each other through it.
    for (const int group : candidates) {
      try_merge(group_of(id), group_of(group));
    }
  }
}

// A sum that has no loop to end gains nothing from one: the kernels of
// reductions read as fast as memory gives. They would widen f16 first.
void LoopGroups::release_lone_sums() {
  for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!is_loop_node(id) || !is_sum(id) || members(group_of(id)).size() > 1) {
      continue;
    }
    const ValueId input = function_.nodes()[i].inputs[0];
    // A loop repeats what was broadcast, and computes again what is cheap.
    const bool is_read_as_it_is =
        loop_source(function_, input) == input &&
        (function_.is_parameter(input) || !is_loop_node(producer(input)));
    if (is_read_as_it_is && function_.type(input).dtype != DType::kF16) {
      loop_shape_[i].reset();
    }
  }
}

// A sum is known only when its loop ends, so no member may read it.
bool LoopGroups::reads_sum_of(int reader, int group) const {
  for (const NodeId member : groups_.members(group)) {
    if (!is_sum(member)) continue;
    const auto sum =
        static_cast<std::size_t>(function_.node(member).outputs[0]);
    for (const NodeId node : readers_[sum]) {
      if (node >= 0 && group_of(node) == reader) return true;
    }
  }
  return false;
}

void LoopGroups::try_merge(int a, int b) {
  if (a == b || reads_sum_of(a, b) || reads_sum_of(b, a)) return;
  groups_.merge(a, b);
}

bool LoopGroups::is_read_outside(ValueId value) const {
  const auto& readers = readers_[static_cast<std::size_t>(value)];
  const int own = group_of(producer(value));
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return reader < 0 || group_of(reader) != own;
  });
}

bool LoopGroups::is_read_in_parts(ValueId value) const {
  if (function_.is_parameter(value)) return false;
  const Node& node = function_.node(producer(value));
  const Shape& shape = function_.type(value).shape;
  // What is computed straight into its place there costs nothing (storage.h).
  if (*node.op != known::concat ||
      resolved_axis(node.attributes.integer("axis"), shape.rank()) !=
          shape.rank() - 1 ||
      !operands_in_result(function_, node).empty()) {
    return false;
  }
  return is_for_whole_loops(value);
}

std::optional<ColumnRange> LoopGroups::read_columns(ValueId value) const {
  return is_for_whole_loops(value) ? columns_of(function_, value)
                                   : std::nullopt;
}

bool LoopGroups::is_for_whole_loops(ValueId value) const {
  return std::ranges::all_of(
      readers_[static_cast<std::size_t>(value)], [&](NodeId reader) {
        return reader >= 0 && is_loop_node(reader) &&
               loop_shape(reader) == function_.type(value).shape;
      });
}

std::vector<NodeId> LoopGroups::members(int group) const {
  std::vector<NodeId> nodes = groups_.members(group);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

// What must be read to compute the value of `node` where its group is not.
LoopGroups::Leaves LoopGroups::leaves_of(const Node& node) const {
  Leaves leaves;
  for (const ValueId input : node.inputs) {
    const auto index = static_cast<std::size_t>(input);
    if (is_stored(input))
      leaves.insert(input);
    else
      leaves.insert(leaves_[index].begin(), leaves_[index].end());
  }
  return leaves;
}

void LoopGroups::choose_stored() {
  // Values are decided in order, so that what an operand is made from is known
  // when a value asks what it takes to compute it again.
  stored_.assign(function_.value_count(), true);
  leaves_.resize(function_.value_count());
  weight_.assign(function_.value_count(), 0);
  recomputed_in_.resize(function_.value_count());
  reads_.resize(function_.nodes().size());
  for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!is_loop_node(id)) continue;
    for (const ValueId input : function_.nodes()[i].inputs) {
      if (function_.is_parameter(input) ||
          group_of(producer(input)) != group_of(id)) {
        reads_[static_cast<std::size_t>(group_of(id))].insert(input);
      }
    }
  }
  for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (is_loop_node(id) && !is_sum(id)) {
      decide(function_.nodes()[i].outputs[0]);
    }
  }
}

// Stored or recomputed? Counts the bytes that either choice moves. A store
// counts twice, since the line is fetched before it is written.
void LoopGroups::decide(ValueId value) {
  const auto index = static_cast<std::size_t>(value);
  const Node& node = function_.node(producer(value));
  const int own = group_of(producer(value));
  leaves_[index] = leaves_of(node);
  weight_[index] = flops_per_element(function_, node);
  for (const ValueId input : node.inputs) {
    // Whoever computes this value again has to compute those again, too.
    if (!is_stored(input)) {
      weight_[index] += weight_[static_cast<std::size_t>(input)];
    }
  }
  bool must_store = false;
  std::set<int> groups;
  for (const NodeId reader : readers_[index]) {
    // A loop over more elements would compute a narrow value many times over.
    if (reader < 0 || !is_loop_node(reader) ||
        !have_one_loop(reader, producer(value))) {
      must_store = true;
    } else if (group_of(reader) != own) {
      groups.insert(group_of(reader));
    }
  }
  // The factors below lean towards storing, as the count of bytes leaves out
  // the arithmetic.
  const bool is_cheap = weight_[index] <= kMostRecomputedWeight;
  double recompute = 0;
  for (const int group : groups) recompute += extra_bytes(group, value);
  const double store = bytes(value) * (2 + static_cast<double>(groups.size()));
  // A value that only its own group reads need not reach memory at all.
  stored_[index] = must_store;
  if (!must_store && !groups.empty()) {
    stored_[index] = !is_cheap || recompute > 0.75 * store;
  }
  for (const int group : groups) {
    // Also a value that is in memory may be computed anew by a group that reads
    // what it is made from anyway.
    const bool again =
        !stored_[index] ||
        (is_cheap && extra_bytes(group, value) < 0.5 * bytes(value));
    if (again) recompute_in(group, value);
  }
}

// What a group has to read beyond what it reads anyhow to compute a value. A
// stored leaf may be computed anew in turn: the mask of a ReLU is made of its
// result, and that of what a gradient of batch norm reads anyway.
double LoopGroups::extra_bytes(int group, ValueId value) const {
  double sum = 0;
  for (const ValueId leaf : missing_leaves(group, value)) {
    sum += is_computed_with(group, leaf, value) ? missing_bytes(group, leaf)
                                                : bytes(leaf);
  }
  return sum;
}

std::vector<ValueId> LoopGroups::missing_leaves(int group,
                                                ValueId value) const {
  std::vector<ValueId> missing;
  std::ranges::set_difference(leaves_[static_cast<std::size_t>(value)],
                              reads_[static_cast<std::size_t>(group)],
                              std::back_inserter(missing));
  return missing;
}

double LoopGroups::missing_bytes(int group, ValueId value) const {
  double sum = 0;
  for (const ValueId leaf : missing_leaves(group, value)) sum += bytes(leaf);
  return sum;
}

// Whether a group that computes `value` computes a leaf of it, too.
bool LoopGroups::is_computed_with(int group, ValueId leaf,
                                  ValueId value) const {
  const auto weight = [&](ValueId id) {
    return weight_[static_cast<std::size_t>(id)];
  };
  return !function_.is_parameter(leaf) && is_loop_node(producer(leaf)) &&
         !is_sum(producer(leaf)) &&
         have_one_loop(producer(leaf), producer(value)) &&
         weight(leaf) + weight(value) <= kMostRecomputedWeight &&
         missing_bytes(group, leaf) < 0.5 * bytes(leaf);
}

// Later values are weighed against what the group reads from now on.
void LoopGroups::recompute_in(int group, ValueId value) {
  recomputed_in_[static_cast<std::size_t>(value)].insert(group);
  auto& reads = reads_[static_cast<std::size_t>(group)];
  reads.erase(value);
  for (const ValueId leaf : missing_leaves(group, value)) {
    if (is_computed_with(group, leaf, value)) {
      recomputed_in_[static_cast<std::size_t>(leaf)].insert(group);
      const Leaves& own = leaves_[static_cast<std::size_t>(leaf)];
      reads.insert(own.begin(), own.end());
    } else {
      reads.insert(leaf);
    }
  }
}

bool LoopGroups::computes(int group, ValueId value) const {
  if (function_.is_parameter(value)) return false;
  const NodeId source = producer(value);
  if (!is_loop_node(source) || is_sum(source)) return false;
  return group_of(source) == group || !is_stored(value) ||
         recomputed_in_[static_cast<std::size_t>(value)].contains(group);
}

}  // namespace weft
