#include "weft/compiler/strided_view.h"

#include <algorithm>

#include "weft/base/index.h"
#include "weft/compiler/permutation.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/slicing.h"

namespace weft {
namespace {

ViewStrides flat(const std::vector<ViewStrides>& axes) {
  ViewStrides all;
  for (const ViewStrides& axis : axes) {
    all.insert(all.end(), axis.begin(), axis.end());
  }
  return all;
}

}  // namespace

ViewStrides joined(const ViewStrides& strides) {
  ViewStrides result;
  for (const ViewStride& each : strides) {
    if (each.size == 1) continue;
    if (!result.empty() && result.back().step == each.size * each.step) {
      result.back() = {result.back().size * each.size, each.step};
    } else {
      result.push_back(each);
    }
  }
  return result;
}

std::optional<std::vector<ViewStrides>> by_axes(const ViewStrides& strides,
                                                std::span<const Dim> sizes) {
  ViewStrides left = strides;
  std::vector<ViewStrides> axes(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    Dim wanted = sizes[axis];
    while (wanted > 1) {
      // The axes have more elements than the strides.
      if (left.empty()) return std::nullopt;
      ViewStride& last = left.back();
      if (wanted % last.size == 0) {
        axes[axis].insert(axes[axis].begin(), last);
        wanted /= last.size;
        left.pop_back();
      } else if (last.size % wanted == 0) {
        // The axis takes the inner part of it.
        axes[axis].insert(axes[axis].begin(), {wanted, last.step});
        last = {last.size / wanted, last.step * wanted};
        wanted = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  if (!left.empty()) return std::nullopt;
  return axes;
}

StridedView::StridedView(const Function& function, ValueId base)
    : base_(base),
      strides_(joined({{function.type(base).shape.num_elements(), 1}})) {}

std::optional<StridedView> StridedView::transposed(
    const Shape& shape, const Integers& order) const {
  const auto axes = by_axes(strides_, shape.dims());
  if (!axes) return std::nullopt;
  std::vector<ViewStrides> moved;
  for (const std::int64_t axis : order) moved.push_back((*axes)[at(axis)]);
  StridedView view = *this;
  view.strides_ = joined(flat(moved));
  return view;
}

std::optional<StridedView> StridedView::cut(const Shape& shape, int axis,
                                            Dim begin, Dim size) const {
  if (size == shape[axis]) return *this;
  auto axes = by_axes(strides_, shape.dims());
  if (!axes) return std::nullopt;
  ViewStrides& along = (*axes)[at(axis)];
  // What is cut out of several strides is seldom strides again.
  along = joined(along);
  if (along.size() != 1) return std::nullopt;
  StridedView view = *this;
  view.first_ += begin * along[0].step;
  along[0].size = size;
  view.strides_ = joined(flat(*axes));
  return view;
}

std::optional<StridedView> StridedView::after(const Function& function,
                                              const Node& node,
                                              ValueId result) const {
  static const OpDef& reshape = op_registry().get("reshape");
  static const OpDef& transpose = op_registry().get("transpose");
  static const OpDef& slice = op_registry().get("slice");
  static const OpDef& split = op_registry().get("split");
  if (node.op == &reshape) return *this;
  const Shape& shape = function.type(node.inputs[0]).shape;
  if (node.op == &transpose) {
    return transposed(shape, permutation_of(node.attributes, shape.rank()));
  }
  std::optional<StridedView> view = *this;
  if (node.op == &slice) {
    const auto inputs = function.input_types(node);
    const auto ranges =
        slice_ranges({*node.op, inputs, node.attributes}, shape);
    Shape now = shape;
    for (int axis = 0; view && axis < shape.rank(); ++axis) {
      const SliceRange& range = ranges[at(axis)];
      if (range.step != 1) return std::nullopt;
      view = view->cut(now, axis, range.begin, range.size);
      now[axis] = range.size;
    }
    return view;
  }
  if (node.op == &split) {
    const int axis =
        normalize_axis(node.attributes.integer("axis"), shape.rank(), "split");
    const Integers& sizes = node.attributes.integers("sizes");
    Dim begin = 0;
    std::size_t part = 0;
    while (node.outputs[part] != result) begin += sizes[part++];
    return view->cut(shape, axis, begin, sizes[part]);
  }
  return std::nullopt;
}

std::vector<StridedView> views_of(const Function& function, ValueId id) {
  std::vector<StridedView> views;
  // How far back an op only chooses and orders elements; `path` has the values
  // from `id` on.
  std::vector<ValueId> path = {id};
  for (;;) {
    const ValueId base = path.back();
    std::optional<StridedView> view = StridedView(function, base);
    for (std::size_t i = path.size() - 1; view && i-- > 0;) {
      view = view->after(function, function.node(function.value(path[i]).node),
                         path[i]);
    }
    if (view) views.push_back(*std::move(view));
    if (function.is_parameter(base)) break;
    const Node& node = function.node(function.value(base).node);
    if (node.inputs.empty() ||
        !StridedView(function, node.inputs[0]).after(function, node, base)) {
      break;
    }
    path.push_back(node.inputs[0]);
  }
  std::ranges::reverse(views);
  return views;
}

}  // namespace weft
