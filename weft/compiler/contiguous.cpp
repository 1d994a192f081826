#include "weft/compiler/contiguous.h"

#include <optional>

#include "weft/base/index.h"
#include "weft/graph/known_ops.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/slicing.h"

namespace weft {
namespace {

// Parts that follow each other along an axis are runs if there is one of each
// dim before it.
bool is_outermost(const Shape& whole, int axis) {
  for (int i = 0; i < axis; ++i) {
    if (whole[i] != 1) return false;
  }
  return true;
}

std::vector<Run> runs_along(const Function& function, const Node& node,
                            const TensorType& whole,
                            const std::vector<ValueId>& parts) {
  if (!is_outermost(whole.shape, resolved_axis(node.attributes.integer("axis"),
                                               whole.shape.rank()))) {
    return {};
  }
  std::vector<Run> runs;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    runs.push_back({i, offset});
    offset += function.type(parts[i]).bytes();
  }
  return runs;
}

// Says where the slice begins, in elements; nothing if the slice has gaps.
std::optional<std::int64_t> start_of_slice(const Function& function,
                                           const Node& node) {
  const Shape& whole = function.type(node.inputs[0]).shape;
  const auto inputs = function.input_types(node);
  const auto ranges = slice_ranges({*node.op, inputs, node.attributes}, whole);
  const auto strides = row_major_strides(whole);
  std::int64_t start = 0;
  bool is_cut = false;  // an axis before this one has several positions
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    const SliceRange& range = ranges[axis];
    const bool is_all = range.begin == 0 && range.size == whole[int(axis)] &&
                        (range.step == 1 || range.size == 1);
    // Behind an axis of several positions, leaving out a part leaves gaps
    // between them.
    if (is_cut && !is_all) return std::nullopt;
    if (range.step != 1 && range.size != 1) return std::nullopt;
    is_cut = is_cut || range.size != 1;
    start += range.begin * strides[axis];
  }
  return start;
}

// True if axes that are not of size 1 keep their order.
bool keeps_order(const Function& function, const Node& node) {
  const Shape& x = function.type(node.inputs[0]).shape;
  const Integers& order = node.attributes.integers("permutation");
  int last = -1;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = order.empty() ? x.rank() - 1 - i
                                   : resolved_axis(order[at(i)], x.rank());
    if (x[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace

std::vector<Run> results_in_operand(const Function& function,
                                    const Node& node) {
  if (node.op->has(kView)) return {{0, 0}};
  const OpDef& op = *node.op;
  if (op == known::split) {
    return runs_along(function, node, function.type(node.inputs[0]),
                      node.outputs);
  }
  if (op == known::slice) {
    const TensorType& type = function.type(node.inputs[0]);
    const auto start = start_of_slice(function, node);
    if (!start) return {};
    return {{0, at(*start) * size_of(type.dtype)}};
  }
  const bool is_same =
      (op == known::transpose && keeps_order(function, node)) ||
      (op == known::broadcast_to && function.type(node.inputs[0]).bytes() ==
                                        function.type(node.outputs[0]).bytes());
  return is_same ? std::vector<Run>{{0, 0}} : std::vector<Run>{};
}

std::vector<Run> operands_in_result(const Function& function,
                                    const Node& node) {
  if (*node.op != known::concat) return {};
  return runs_along(function, node, function.type(node.outputs[0]),
                    node.inputs);
}

}  // namespace weft
