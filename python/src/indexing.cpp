#include "python/src/indexing.h"

#include "python/src/convert.h"
#include "python/src/operators.h"
#include "python/src/selection.h"

#include "weft/base/index.h"
#include "weft/ops/slice.h"
#include "weft/tensor/symbol.h"

namespace weft::python {
namespace {

Error refused(ErrorCode code, const char* why) {
  return Error(code, "index", "{}", why);
}

// One entry of a key. `tensor` is defined where it is one.
struct Entry {
  py::object object;
  Value tensor;

  bool is_mask() const {
    return tensor.is_defined() && tensor.dtype() == DType::kBool;
  }
  // How many axes of x it is for.
  std::size_t axes() const {
    if (object.is_none() || object.ptr() == Py_Ellipsis) return 0;
    return is_mask() ? at(tensor.shape().rank()) : 1;
  }
};

bool is_integer(const py::handle& item) {
  // True would be 1, and arrays of no axes have an index too; neither is meant.
  return PyIndex_Check(item.ptr()) != 0 && PyBool_Check(item.ptr()) == 0 &&
         !is_array(item);
}

Entry entry_from(const py::handle& item) {
  Entry entry{py::reinterpret_borrow<py::object>(item), {}};
  if (item.is_none() || item.ptr() == Py_Ellipsis ||
      py::isinstance<py::slice>(item) || is_integer(item)) {
    return entry;
  }
  if (PyBool_Check(item.ptr()) != 0) {
    throw refused(ErrorCode::kUnsupported, "True and False are no indices");
  }
  entry.tensor = value_from(item);
  // A list of nothing holds numbers elsewhere, and indices here; ops take
  // indices of 32 and of 64 bits.
  const DType dtype = entry.tensor.dtype();
  const bool is_nothing = py::isinstance<py::list>(item) &&
                          entry.tensor.shape().num_elements() == 0;
  if (is_nothing || (weft::is_integer(dtype) && size_of(dtype) < 4)) {
    entry.tensor =
        run_op_one("cast", std::vector{entry.tensor}, {{"dtype", DType::kI64}});
  }
  if (!weft::is_integer(entry.tensor.dtype()) && !entry.is_mask()) {
    throw refused(ErrorCode::kInvalidArgument,
                  "a tensor that indexes holds integers or bools")
        .detail("indices: " + to_string(entry.tensor.type()));
  }
  return entry;
}

std::vector<Entry> entries_of(const py::handle& key) {
  std::vector<Entry> entries;
  if (py::isinstance<py::tuple>(key)) {
    for (const auto item : key) entries.push_back(entry_from(item));
  } else {
    entries.push_back(entry_from(key));
  }
  return entries;
}

void require_known(const py::handle& slice) {
  for (const char* part : {"start", "stop", "step"}) {
    const py::object bound = slice.attr(part);
    const auto* value = held<Value>(bound);
    if (value == nullptr || !value->is_staged()) continue;
    throw refused(ErrorCode::kUnsupported,
                  "where a slice begins or ends is known only when the "
                  "function runs")
        .hint("dynamic_slice(x, starts, sizes) takes one of a known size");
  }
}

void add_slice(Selection& selection, const py::handle& slice) {
  require_known(slice);
  Py_ssize_t begin = 0;
  Py_ssize_t end = 0;
  Py_ssize_t step = 0;
  if (PySlice_Unpack(slice.ptr(), &begin, &end, &step) != 0) {
    throw py::error_already_set();
  }
  const Dim size = selection.next_size();
  if (is_symbolic(size)) {
    // What Python leaves out goes to either end.
    if (begin == PY_SSIZE_T_MAX) begin = kToEnd;
    if (end == PY_SSIZE_T_MAX || end == PY_SSIZE_T_MIN) end = kToEnd;
  } else if (PySlice_AdjustIndices(size, &begin, &end, step) == 0) {
    begin = end = 0;
    step = 1;
  } else if (step < 0 && end < 0) {
    end = kToEnd;
  }
  selection.add_range(begin, end, step);
}

// A mask is the indices of its true elements, a tensor for each axis.
void add_mask(Selection& selection, const Value& mask) {
  if (mask.is_staged()) {
    throw refused(ErrorCode::kUnsupported,
                  "how many elements a mask selects is known only when the "
                  "function runs")
        .hint(
            "where(mask, x, other) keeps the shape, and x.at[mask].set(number) "
            "works; or compute the mask outside of the function");
  }
  const Tensor& flags = mask.tensor({});
  const Shape& shape = flags.shape();
  if (shape.is_scalar()) {
    throw refused(ErrorCode::kUnsupported, "a mask needs axes");
  }
  std::vector<std::vector<std::int64_t>> indices(at(shape.rank()));
  const auto strides = row_major_strides(shape);
  for (std::int64_t i = 0; i < flags.size(); ++i) {
    if (!flags.data<bool>()[i]) continue;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      indices[at(axis)].push_back(i / strides[at(axis)] % shape[axis]);
    }
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Dim size = selection.next_size();
    if (!is_symbolic(size) && size != shape[axis]) {
      throw Error(ErrorCode::kInvalidArgument, "index",
                  "axis {} of the mask has {} elements, but axis {} of x has "
                  "{}",
                  axis, shape[axis], selection.next_axis(), size);
    }
    const std::vector<std::int64_t>& own = indices[at(axis)];
    selection.add_indices(
        Tensor::of<std::int64_t>({static_cast<Dim>(own.size())}, own));
  }
}

void add(Selection& selection, const Entry& entry, std::size_t rest) {
  if (entry.object.is_none()) {
    selection.add_new_axis();
  } else if (entry.object.ptr() == Py_Ellipsis) {
    selection.add_all(rest);
  } else if (py::isinstance<py::slice>(entry.object)) {
    add_slice(selection, entry.object);
  } else if (entry.is_mask()) {
    add_mask(selection, entry.tensor);
  } else if (entry.tensor.is_defined()) {
    selection.add_indices(entry.tensor);
  } else {
    selection.add_integer(integers_from(entry.object).front());
  }
}

Selection selection_of(const Value& x, const std::vector<Entry>& entries) {
  Selection selection(x);
  std::size_t used = 0;
  std::size_t ellipses = 0;
  // All entries are counted first, as '...' stands for the axes that the others
  // leave.
  for (const Entry& entry : entries) {
    used += entry.axes();
    if (entry.object.ptr() == Py_Ellipsis) ++ellipses;
  }
  if (used > selection.rank() || ellipses > 1) {
    throw refused(ErrorCode::kInvalidArgument,
                  ellipses > 1 ? "one '...' at most" : "too many indices")
        .detail("x: " + to_string(x.type()));
  }
  const std::size_t rest = selection.rank() - used;
  for (const Entry& entry : entries) add(selection, entry, rest);
  if (ellipses == 0) selection.add_all(rest);
  return selection;
}

// One number in all places of a mask needs no indices, so that the mask may be
// computed.
Value updated_by_mask(const Value& x, const Value& mask, const Value& update,
                      const std::string& mode) {
  Shape shape = mask.shape();
  if (shape.rank() > x.shape().rank() ||
      Shape(x.shape().first(shape.rank())) != shape) {
    throw refused(ErrorCode::kInvalidArgument,
                  "a mask has the first axes of what it is for")
        .detail("x: " + to_string(x.type()))
        .detail("mask: " + to_string(mask.type()));
  }
  shape.resize(x.shape().rank(), 1);
  const Value flags =
      run_op_one("reshape", std::vector{mask}, {{"shape", shape}});
  return run_op_one("where", std::vector{flags, combined(x, update, mode), x});
}

struct Place {
  Value x;
  py::object key;
};

}  // namespace

Value index(const Value& x, const py::handle& key) {
  return selection_of(x, entries_of(key)).take();
}

Value updated(const Value& x, const py::handle& key, const py::handle& update,
              const std::string& mode) {
  const Value value =
      is_number(update) ? number_from(update, x.dtype()) : value_from(update);
  if (value.dtype() != x.dtype()) {
    throw Error(ErrorCode::kInvalidArgument, "index",
                "x is {}, but its update is {}", to_string(x.dtype()),
                to_string(value.dtype()))
        .hint("convert one of them with cast()");
  }
  const auto entries = entries_of(key);
  if (entries.size() == 1 && entries[0].is_mask() &&
      value.shape().is_scalar()) {
    return updated_by_mask(x, entries[0].tensor, value, mode);
  }
  return selection_of(x, entries).put(value, mode);
}

void bind_at(py::module_& module) {
  py::class_<At>(module, "At")
      .def("__getitem__", [](const At& self, const py::object& key) {
        return Place{self.x, key};
      });
  py::class_<Place> place(module, "Place");
  for (const char* mode : {"set", "add", "max", "min"}) {
    place.def(mode, [mode](const Place& self, const py::object& update) {
      return updated(self.x, self.key, update, mode);
    });
  }
}

}  // namespace weft::python
