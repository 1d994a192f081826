#include "weft/compiler/columns.h"

#include <algorithm>

#include "weft/base/index.h"
#include "weft/compiler/contiguous.h"
#include "weft/graph/known_ops.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/slicing.h"

namespace weft {
namespace {

std::optional<Dim> first_of_slice(const Function& function, const Node& node) {
  const Shape& whole = function.type(node.inputs[0]).shape;
  const auto inputs = function.input_types(node);
  const auto ranges = slice_ranges({*node.op, inputs, node.attributes}, whole);
  for (int axis = 0; axis < whole.rank(); ++axis) {
    const SliceRange& range = ranges[at(axis)];
    const bool is_all = range.begin == 0 && range.size == whole[axis];
    if (range.step != 1 || (axis + 1 < whole.rank() && !is_all)) {
      return std::nullopt;
    }
  }
  return ranges.back().begin;
}

std::optional<Dim> first_of_split(const Function& function, const Node& node,
                                  ValueId part) {
  const int rank = function.type(part).shape.rank();
  if (resolved_axis(node.attributes.integer("axis"), rank) != rank - 1) {
    return std::nullopt;
  }
  Dim first = 0;
  for (const ValueId output : node.outputs) {
    if (output == part) return first;
    first += function.type(output).shape.back();
  }
  return std::nullopt;
}

}  // namespace

std::optional<ColumnRange> columns_of(const Function& function, ValueId id) {
  if (function.is_parameter(id) || function.type(id).bytes() == 0) {
    return std::nullopt;
  }
  const Node& node = function.node(function.value(id).node);
  const bool is_slice = *node.op == known::slice;
  if ((!is_slice && *node.op != known::split) ||
      !results_in_operand(function, node).empty()) {
    return std::nullopt;
  }
  const auto first = is_slice ? first_of_slice(function, node)
                              : first_of_split(function, node, id);
  if (!first) return std::nullopt;
  return ColumnRange{node.inputs[0], *first};
}

}  // namespace weft
