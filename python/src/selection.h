// The part of a tensor that a key of NumPy selects: a slice, laid out anew, and
// rows of that by tensors of indices. It can be taken, or changed.
//
// Threads: with the GIL.
#pragma once

#include <string_view>

#include "python/src/bind.h"

#include "weft/graph/attributes.h"

namespace weft::python {

class Selection {
 public:
  explicit Selection(const Value& x);

  // What the key says about the next axes, in order.
  void add_new_axis();
  void add_all(std::size_t axes);
  // Throws IndexError for an integer outside of the axis.
  void add_integer(std::int64_t index);
  // They mean what the op `slice` means by them.
  void add_range(std::int64_t begin, std::int64_t end, std::int64_t step);
  void add_indices(const Value& indices);

  std::size_t rank() const { return begin_.size(); }
  Dim next_size() const { return x_.shape()[next_]; }
  int next_axis() const { return next_; }

  Value take() const;
  // x with `update`, which broadcasts to what take() gives, in that part. The
  // mode is one of scatter_nd's.
  Value put(const Value& update, std::string_view mode) const;

 private:
  static constexpr int kNewAxis = -1;
  // Where in the key stands what indexes: NumPy keeps it together, and moves it
  // to the front where that is not possible.
  enum class Span { kBefore, kInside, kBehind, kApart };

  void note_indexing();
  void note_other();
  int place() const;      // of the indices' axes in the result
  bool is_dense() const;  // its slice goes forward by single steps

  Value sliced() const;
  Value laid_out(const Value& part) const;
  Value back_in_x(const Value& part) const;
  Shape indices_shape() const;
  Shape taken_shape(const Value& part) const;
  // The indices side by side, along a new last axis.
  Value tuples() const;
  // The axes that are indexed first, then the others.
  Integers indexed_first() const;
  // Moves the axes of the indices between the front and their place.
  Value from_front(const Value& rows) const;
  Value to_front(const Value& rows) const;

  Value x_;
  Integers begin_;
  Integers end_;
  Integers steps_;
  std::vector<int> layout_;  // axes of x in the result, before indices
  int next_ = 0;             // axis of x
  bool is_sliced_ = false;
  bool is_reshaped_ = false;
  std::vector<Value> indices_;
  std::vector<int> indexed_;  // axes of the layout
  Span span_ = Span::kBefore;
  int first_indexed_ = 0;  // axes of the layout before anything that indexes
};

// What update is made of an element: the update, or their sum, maximum or
// minimum.
Value combined(const Value& own, const Value& update, std::string_view mode);

}  // namespace weft::python
