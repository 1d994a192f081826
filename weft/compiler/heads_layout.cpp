#include "weft/compiler/heads_layout.h"

#include <algorithm>

#include "weft/graph/registry.h"

namespace weft {
namespace {

// A view of matrices: how far it is from one batch, head, row and column to the
// next; nothing for an axis along which that differs.
struct MatrixSteps {
  std::array<ViewStride, 4> axes;

  const ViewStride& batch() const { return axes[0]; }
  const ViewStride& head() const { return axes[1]; }
  const ViewStride& row() const { return axes[2]; }
  const ViewStride& column() const { return axes[3]; }
};

// An axis of one place has any step.
bool has_step(const ViewStride& axis, Dim step) {
  return axis.size == 1 || axis.step == step;
}

std::optional<MatrixSteps> matrix_steps(const StridedView& view,
                                        const std::array<Dim, 4>& sizes) {
  const auto axes = by_axes(view.strides(), sizes);
  if (!axes) return std::nullopt;
  MatrixSteps steps;
  for (std::size_t i = 0; i < 4; ++i) {
    const ViewStrides along = joined((*axes)[i]);
    if (along.size() > 1) return std::nullopt;
    steps.axes[i] = along.empty() ? ViewStride{1, 0} : along[0];
  }
  return steps;
}

class LayoutFinder {
 public:
  LayoutFinder(const Function& function, const Readers& readers,
               const FoundAttention& found)
      : function_(function), readers_(readers), found_(found) {
    views_ = {views_of(function, found.query), views_of(function, found.key),
              views_of(function, found.value)};
    is_transposed_ = {found.query_is_transposed, found.key_is_transposed,
                      found.value_is_transposed};
  }

  HeadsLayout run() const {
    std::optional<HeadsLayout> best;
    for (const auto& [batch, heads] : stacks()) {
      for (const bool has_length_first : {false, true}) {
        HeadsLayout layout = with(batch, heads, has_length_first);
        if (!best || layout.saved > best->saved) best = layout;
      }
    }
    return *best;
  }

 private:
  const Shape& shape(ValueId id) const { return function_.type(id).shape; }
  static Dim from_end(const Shape& shape, int axis) {
    return shape[shape.rank() - axis];
  }
  static ValueId operand(const FoundAttention& found, std::size_t i) {
    return i == 0 ? found.query : i == 1 ? found.key : found.value;
  }

  // How the leading axes may be batches and heads.
  std::vector<std::pair<Dim, Dim>> stacks() const {
    const Shape& query = shape(found_.query);
    const int rank = query.rank();
    if (rank == 2) return {{1, 1}};
    const Dim last = query[rank - 3];
    Dim others = 1;
    for (int axis = 0; axis < rank - 3; ++axis) others *= query[axis];
    if (rank > 3) return {{others, last}};
    std::vector<std::pair<Dim, Dim>> all = {{last, 1}, {1, last}};
    // One axis may be both: the views say where one ends and the other begins.
    const std::array<Dim, 3> sizes = {last, query[1], query[2]};
    for (const StridedView& view : views_[0]) {
      const auto axes = by_axes(view.strides(), sizes);
      if (!axes) continue;
      const ViewStrides leading = joined((*axes)[0]);
      if (leading.size() == 2) {
        all.emplace_back(leading[0].size, leading[1].size);
      }
    }
    return all;
  }

  HeadsLayout with(Dim batch, Dim heads, bool has_length_first) const {
    const auto rows_and_columns = [&](std::size_t i) {
      const Shape& s = shape(operand(found_, i));
      Dim rows = from_end(s, 2), columns = from_end(s, 1);
      if (is_transposed_[i]) std::swap(rows, columns);
      return std::pair{rows, columns};
    };
    const auto [queries, width] = rows_and_columns(0);
    const auto [keys, value_width] = rows_and_columns(2);
    HeadsLayout layout{batch, heads,       queries,         keys,
                       width, value_width, has_length_first};
    for (std::size_t i = 0; i < 3; ++i) {
      const Dim rows = i == 0 ? queries : keys;
      const Dim columns = i == 2 ? value_width : width;
      layout.operands[i] =
          place_of(i, {batch, heads, rows, columns}, has_length_first);
      layout.saved += nodes_behind(i, layout.operands[i].base);
    }
    find_joined_result(layout);
    return layout;
  }

  HeadsPlace place_of(std::size_t i, const std::array<Dim, 4>& sizes,
                      bool has_length_first) const {
    std::array<Dim, 4> lie = sizes;
    if (is_transposed_[i]) std::swap(lie[2], lie[3]);
    for (const StridedView& view : views_[i]) {
      auto steps = matrix_steps(view, lie);
      if (!steps) continue;
      if (is_transposed_[i]) std::swap(steps->axes[2], steps->axes[3]);
      if (auto place = in_columns(view, *steps, sizes, has_length_first)) {
        return *place;
      }
    }
    for (const StridedView& view : views_[i]) {
      auto steps = matrix_steps(view, lie);
      if (!steps) continue;
      if (is_transposed_[i]) std::swap(steps->axes[2], steps->axes[3]);
      if (is_all_in_order(view, *steps, sizes)) return {view.base()};
    }
    return {.base = operand(found_, i), .is_transposed = is_transposed_[i]};
  }

  // The base as [batch, length, columns], or [length, batch, columns].
  std::optional<HeadsPlace> in_columns(const StridedView& view,
                                       const MatrixSteps& steps,
                                       const std::array<Dim, 4>& sizes,
                                       bool has_length_first) const {
    const auto [batch, heads, rows, width] = sizes;
    const Dim elements = shape(view.base()).num_elements();
    if (elements % (batch * rows) != 0) return std::nullopt;
    const Dim columns = elements / (batch * rows);
    const bool lies_so =
        has_step(steps.batch(), has_length_first ? columns : rows * columns) &&
        has_step(steps.row(), has_length_first ? batch * columns : columns) &&
        has_step(steps.column(), 1);
    const Dim step = heads == 1 ? width : steps.head().step;
    if (!lies_so || step < width ||
        view.first() + (heads - 1) * step + width > columns) {
      return std::nullopt;
    }
    return HeadsPlace{view.base(), false, view.first(), step, columns};
  }

  bool is_all_in_order(const StridedView& view, const MatrixSteps& steps,
                       const std::array<Dim, 4>& sizes) const {
    const auto [batch, heads, rows, width] = sizes;
    return shape(view.base()).num_elements() == batch * heads * rows * width &&
           has_step(steps.batch(), heads * rows * width) &&
           has_step(steps.head(), rows * width) &&
           has_step(steps.row(), width) && has_step(steps.column(), 1);
  }

  // How many nodes make the operand of what is read in its place.
  std::size_t nodes_behind(std::size_t i, ValueId base) const {
    const auto place = std::ranges::find(views_[i], base, &StridedView::base);
    return static_cast<std::size_t>(views_[i].end() - place) - 1;
  }

  // Notes what is only the result with its heads in columns.
  void find_joined_result(HeadsLayout& layout) const {
    const Dim head = layout.queries * layout.value_width;
    const ViewStride batch{layout.batch, layout.heads * head};
    const ViewStride row{layout.queries, layout.value_width};
    const ViewStride heads{layout.heads, head};
    const ViewStride column{layout.value_width, 1};
    const ViewStrides wanted = joined(
        layout.has_length_first ? ViewStrides{row, batch, heads, column}
                                : ViewStrides{batch, row, heads, column});
    ValueId id = found_.result;
    StridedView view(function_, id);
    for (std::size_t nodes = 0;; ++nodes) {
      if (view.strides() == wanted) {
        layout.joined_result = id;
        layout.saved += nodes;
        return;
      }
      const NodeId reader = readers_.only(id);
      if (reader < 0) return;
      const Node& node = function_.node(reader);
      if (node.outputs.size() != 1) return;
      const auto next = view.after(function_, node, node.outputs[0]);
      // A part is not all of the result.
      if (!next ||
          shape(node.outputs[0]).num_elements() != shape(id).num_elements()) {
        return;
      }
      view = *next;
      id = node.outputs[0];
    }
  }

  const Function& function_;
  const Readers& readers_;
  const FoundAttention& found_;
  std::array<std::vector<StridedView>, 3> views_;
  std::array<bool, 3> is_transposed_;
};

}  // namespace

HeadsLayout best_heads_layout(const Function& function, const Readers& readers,
                              const FoundAttention& found) {
  return LayoutFinder(function, readers, found).run();
}

}  // namespace weft
