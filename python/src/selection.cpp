#include "python/src/selection.h"

#include <algorithm>
#include <numeric>

#include "python/src/operators.h"

#include "weft/base/index.h"
#include "weft/graph/index_check.h"
#include "weft/ops/slice.h"
#include "weft/tensor/symbol.h"

namespace weft::python {
namespace {

Value op1(std::string_view name, const Value& x, const Attributes& attributes) {
  return run_op_one(name, std::vector{x}, attributes);
}

Value transposed(const Value& x, const Integers& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  return op1("transpose", x, {{"permutation", order}});
}

Integers inverse_of(const Integers& order) {
  Integers inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[at(order[i])] = static_cast<std::int64_t>(i);
  }
  return inverse;
}

// Which axis stands where, when `count` axes from `from` on are moved to `to`.
Integers moved_axes(int rank, int from, int count, int to) {
  Integers order(at(rank));
  std::iota(order.begin(), order.end(), 0);
  const Integers moved(order.begin() + from, order.begin() + from + count);
  order.erase(order.begin() + from, order.begin() + from + count);
  order.insert(order.begin() + to, moved.begin(), moved.end());
  return order;
}

Value spread(const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return op1("broadcast_to", x, {{"shape", shape}});
}

}  // namespace

Selection::Selection(const Value& x)
    : x_(x),
      begin_(at(x.shape().rank()), 0),
      end_(at(x.shape().rank()), kToEnd),
      steps_(at(x.shape().rank()), 1) {}

void Selection::note_indexing() {
  if (span_ == Span::kBefore) {
    first_indexed_ = static_cast<int>(layout_.size());
    span_ = Span::kInside;
  } else if (span_ == Span::kBehind) {
    span_ = Span::kApart;
  }
}

void Selection::note_other() {
  if (span_ == Span::kInside) span_ = Span::kBehind;
}

void Selection::add_new_axis() {
  note_other();
  layout_.push_back(kNewAxis);
  is_reshaped_ = true;
}

void Selection::add_all(std::size_t axes) {
  note_other();
  for (; axes > 0; --axes) layout_.push_back(next_++);
}

void Selection::add_integer(std::int64_t index) {
  note_indexing();
  const Dim size = next_size();
  if (!is_symbolic(size) && (index < -size || index >= size)) {
    throw IndexError(ErrorCode::kInvalidArgument, "index",
                     "{} is outside of axis {}, which has {}", index, next_,
                     size);
  }
  const auto axis = at(next_++);
  begin_[axis] = index;
  end_[axis] = index == -1 ? kToEnd : index + 1;
  is_sliced_ = is_reshaped_ = true;
}

void Selection::add_range(std::int64_t begin, std::int64_t end,
                          std::int64_t step) {
  note_other();
  const auto axis = at(next_);
  begin_[axis] = begin;
  end_[axis] = end;
  steps_[axis] = step;
  is_sliced_ = true;
  layout_.push_back(next_++);
}

void Selection::add_indices(const Value& indices) {
  note_indexing();
  indices_.push_back(indices);
  indexed_.push_back(static_cast<int>(layout_.size()));
  layout_.push_back(next_++);
}

int Selection::place() const {
  return span_ == Span::kApart ? 0 : first_indexed_;
}

Value Selection::sliced() const {
  if (!is_sliced_) return x_;
  return op1("slice", x_,
             {{"begin", begin_}, {"end", end_}, {"steps", steps_}});
}

Value Selection::laid_out(const Value& part) const {
  if (!is_reshaped_) return part;
  Shape shape;
  for (const int axis : layout_) {
    shape.push_back(axis == kNewAxis ? 1 : part.shape()[axis]);
  }
  return op1("reshape", part, {{"shape", shape}});
}

Shape Selection::indices_shape() const {
  Shape shape;
  for (const Value& indices : indices_) {
    const Shape& own = indices.shape();
    if (own.rank() > shape.rank()) {
      Shape longer(own.first(own.rank() - shape.rank()));
      for (const Dim dim : shape) longer.push_back(dim);
      shape = longer;
    }
    for (int back = 1; back <= own.rank(); ++back) {
      Dim& dim = shape[shape.rank() - back];
      if (dim == 1) dim = own[own.rank() - back];
    }
  }
  return shape;
}

// What does not broadcast is refused by broadcast_to, with the shapes.
Value Selection::tuples() const {
  const Shape places = indices_shape();
  Shape column = places;
  column.push_back(1);
  std::vector<Value> parts;
  for (const Value& indices : indices_) {
    const Value wide = indices.dtype() == DType::kI64
                           ? indices
                           : op1("cast", indices, {{"dtype", DType::kI64}});
    parts.push_back(op1("reshape", spread(wide, places), {{"shape", column}}));
  }
  if (parts.size() == 1) return parts.front();
  return run_op_one("concat", parts,
                    {{"axis", static_cast<std::int64_t>(places.rank())}});
}

Integers Selection::indexed_first() const {
  Integers order(indexed_.begin(), indexed_.end());
  for (int axis = 0; axis < static_cast<int>(layout_.size()); ++axis) {
    if (std::find(indexed_.begin(), indexed_.end(), axis) == indexed_.end()) {
      order.push_back(axis);
    }
  }
  return order;
}

Value Selection::from_front(const Value& rows) const {
  return transposed(rows, moved_axes(rows.shape().rank(), 0,
                                     indices_shape().rank(), place()));
}

Value Selection::to_front(const Value& rows) const {
  return transposed(rows, moved_axes(rows.shape().rank(), place(),
                                     indices_shape().rank(), 0));
}

Value Selection::take() const {
  Value part = laid_out(sliced());
  if (indices_.empty()) return part;
  if (indices_.size() == 1) {
    const int axis = indexed_.front();
    const Value rows = run_op_one("gather", std::vector{part, indices_.front()},
                                  {{"axis", std::int64_t{axis}}});
    return transposed(rows, moved_axes(rows.shape().rank(), axis,
                                       indices_shape().rank(), place()));
  }
  return from_front(run_op_one(
      "gather_nd", std::vector{transposed(part, indexed_first()), tuples()}));
}

bool Selection::is_dense() const {
  return std::all_of(steps_.begin(), steps_.end(),
                     [](std::int64_t step) { return step == 1; });
}

// x with `part` in the place of the slice.
Value Selection::back_in_x(const Value& part) const {
  if (is_dense() && part.shape() == x_.shape()) return part;
  if (is_dense()) {
    const Tensor starts =
        Tensor::of<std::int64_t>({static_cast<Dim>(begin_.size())}, begin_);
    return run_op_one("dynamic_update_slice",
                      std::vector{x_, part, Value(starts)});
  }
  const Attributes where_sliced{{"shape", x_.shape()},
                                {"begin", begin_},
                                {"end", end_},
                                {"steps", steps_}};
  const Value chosen = run_op_one(
      "full", {},
      {{"shape", part.shape()}, {"value", 1.0}, {"dtype", DType::kBool}});
  return run_op_one("where",
                    std::vector{op1("unslice", chosen, where_sliced),
                                op1("unslice", part, where_sliced), x_});
}

// The shape of what take() gives.
Shape Selection::taken_shape(const Value& part) const {
  Shape rest;
  const Integers order = indexed_first();
  for (std::size_t i = indexed_.size(); i < order.size(); ++i) {
    rest.push_back(part.shape()[static_cast<int>(order[i])]);
  }
  Shape taken(rest.first(place()));
  for (const Dim dim : indices_shape()) taken.push_back(dim);
  for (const Dim dim : rest.last(rest.rank() - place())) taken.push_back(dim);
  return taken;
}

Value Selection::put(const Value& update, std::string_view mode) const {
  const Value slice = sliced();
  const Value part = laid_out(slice);
  Value changed;
  if (indices_.empty()) {
    changed = combined(part, spread(update, part.shape()), mode);
  } else {
    const Integers order = indexed_first();
    const Value updates = to_front(spread(update, taken_shape(part)));
    const Value rows = run_op_one(
        "scatter_nd", std::vector{transposed(part, order), tuples(), updates},
        {{"mode", std::string(mode)}});
    changed = transposed(rows, inverse_of(order));
  }
  if (is_reshaped_) {
    changed = op1("reshape", changed, {{"shape", slice.shape()}});
  }
  return back_in_x(changed);
}

Value combined(const Value& own, const Value& update, std::string_view mode) {
  if (mode == "set") return update;
  const std::string_view op = mode == "add"   ? "add"
                              : mode == "max" ? "maximum"
                                              : "minimum";
  return run_op_one(op, std::vector{own, update});
}

}  // namespace weft::python
