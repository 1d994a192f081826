#include "python/src/indexing.h"

#include <optional>

#include "python/src/convert.h"
#include "python/src/operators.h"

#include "weft/graph/index_check.h"
#include "weft/ops/slice.h"
#include "weft/tensor/symbol.h"

namespace weft::python {
namespace {

Error refused(ErrorCode code, const char* why) {
  return Error(code, "index", "{}", why);
}

// What a key makes of a tensor: a slice, then another shape, then a gather.
// Any key thus costs three ops at most, each of which knows its gradient.
class Selection {
 public:
  explicit Selection(const Value& x)
      : x_(x),
        begin_(count(x.shape().rank()), 0),
        end_(count(x.shape().rank()), kToEnd),
        steps_(count(x.shape().rank()), 1) {}

  void add_new_axis() {
    layout_.push_back(kNewAxis);
    is_reshaped_ = true;
  }
  void add_all(std::size_t axes) {
    for (; axes > 0; --axes) layout_.push_back(next_++);
  }
  void add_integer(std::int64_t at) {
    const Dim size = x_.shape()[next_];
    // A size that is not known yet is checked when the graph runs.
    if (!is_symbolic(size) && (at < -size || at >= size)) {
      throw IndexError(ErrorCode::kInvalidArgument, "index",
                       "{} is outside of axis {}, which has {}", at, next_,
                       size);
    }
    const auto axis = count(next_++);
    begin_[axis] = at;
    // The end after -1 would be 0, which is the beginning.
    end_[axis] = at == -1 ? kToEnd : at + 1;
    is_sliced_ = is_reshaped_ = true;
  }
  void add_slice(const py::slice& slice) {
    const int axis = next_++;
    layout_.push_back(axis);
    Py_ssize_t begin = 0;
    Py_ssize_t end = 0;
    Py_ssize_t step = 0;
    // It fills in what was left out and bounds what passes 64 bits, as Python's
    // own sequences do.
    if (PySlice_Unpack(slice.ptr(), &begin, &end, &step) != 0) {
      throw py::error_already_set();
    }
    if (step < 1) {
      throw refused(ErrorCode::kUnsupported, "slices go forward only");
    }
    const Dim dim = x_.shape()[axis];
    if (!is_symbolic(dim)) {
      const Py_ssize_t size = PySlice_AdjustIndices(dim, &begin, &end, step);
      // Python lets the end of an empty slice lie before its begin.
      if (size == 0) end = begin;
    } else if (end == PY_SSIZE_T_MAX) {
      end = kToEnd;
    }
    begin_[count(axis)] = begin;
    end_[count(axis)] = end;
    steps_[count(axis)] = step;
    is_sliced_ = true;
  }
  void add_tensor(Value indices) {
    // Several would have to be broadcast against each other, which no one
    // gather does.
    if (indices_) {
      throw refused(ErrorCode::kUnsupported, "one tensor can index, not more");
    }
    if (!weft::is_integer(indices.dtype())) {
      throw refused(ErrorCode::kUnsupported,
                    "a tensor that indexes holds integers")
          .hint("where() chooses by a mask");
    }
    indices_ = std::move(indices);
    // The gather comes after the reshape, so it counts the axes that are there
    // by then.
    gather_axis_ = static_cast<std::int64_t>(layout_.size());
    layout_.push_back(next_++);
  }

  std::size_t rank() const { return begin_.size(); }

  Value apply() const {
    Value y = x_;
    if (is_sliced_) {
      y = run_op_one("slice", std::vector{y},
                     {{"begin", begin_}, {"end", end_}, {"steps", steps_}});
    }
    if (is_reshaped_) {
      Shape shape;
      // An axis that an integer picked has one element now, and is left out
      // here.
      for (const int axis : layout_) {
        shape.push_back(axis == kNewAxis ? 1 : y.shape()[axis]);
      }
      y = run_op_one("reshape", std::vector{y}, {{"shape", shape}});
    }
    if (indices_) {
      y = run_op_one("gather", std::vector{y, *indices_},
                     {{"axis", gather_axis_}});
    }
    return y;
  }

 private:
  static constexpr int kNewAxis = -1;
  static std::size_t count(int n) { return static_cast<std::size_t>(n); }

  Value x_;
  Integers begin_;
  Integers end_;
  Integers steps_;
  std::vector<int> layout_;  // axes of x in the result, before the gather
  int next_ = 0;             // axis of x
  bool is_sliced_ = false;
  bool is_reshaped_ = false;
  std::optional<Value> indices_;
  std::int64_t gather_axis_ = 0;
};

bool is_integer(const py::handle& item) {
  // True would be 1, and arrays of no axes have an index too; neither is meant.
  return PyIndex_Check(item.ptr()) != 0 && PyBool_Check(item.ptr()) == 0 &&
         !is_array(item);
}

}  // namespace

Value index(const Value& x, const py::handle& key) {
  const py::tuple items = py::isinstance<py::tuple>(key)
                              ? py::reinterpret_borrow<py::tuple>(key)
                              : py::make_tuple(key);
  Selection selection(x);
  std::size_t used = 0;
  std::size_t ellipses = 0;
  // All entries are counted first, as '...' stands for the axes that the others
  // leave.
  for (const auto item : items) {
    if (item.ptr() == Py_Ellipsis) {
      ++ellipses;
    } else if (!item.is_none()) {
      ++used;
    }
  }
  if (used > selection.rank() || ellipses > 1) {
    throw refused(ErrorCode::kInvalidArgument,
                  ellipses > 1 ? "one '...' at most" : "too many indices")
        .detail("x: " + to_string(x.type()));
  }
  const std::size_t rest = selection.rank() - used;
  for (const auto item : items) {
    if (item.is_none()) {
      selection.add_new_axis();
    } else if (item.ptr() == Py_Ellipsis) {
      selection.add_all(rest);
    } else if (py::isinstance<py::slice>(item)) {
      selection.add_slice(py::reinterpret_borrow<py::slice>(item));
    } else if (is_integer(item)) {
      selection.add_integer(integers_from(item).front());
    } else {
      selection.add_tensor(value_from(item));
    }
  }
  if (ellipses == 0) selection.add_all(rest);
  return selection.apply();
}

}  // namespace weft::python
