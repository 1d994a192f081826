// Converts between Python objects and Weft's types.
//
// Threads: with the GIL.
#pragma once

#include <optional>

#include "python/src/bind.h"

#include "weft/graph/attributes.h"
#include "weft/graph/variable.h"

namespace weft::python {

// Imports NumPy where nobody has yet. Whatever uses arrays or dtypes of NumPy
// asks for it first.
void need_numpy();
// What need_numpy() has done once, by weft/_numpy.py.
void prepare_numpy();

// "f32", "float32", or what NumPy knows as a dtype. Throws
// Error(kInvalidArgument) with the nearest known name.
DType dtype_from(const py::handle& object);
// NumPy's dtype; that of ml_dtypes for bf16. Throws Error(kUnsupported) if
// that package is missing.
py::object numpy_dtype(DType dtype);

// A dim that is known only when a graph runs: weft.Dim.
struct SymbolicDim {
  Dim dim;
};

// A dim is an int, or a weft.Dim where it is not known yet.
py::object from_dim(Dim dim);
Dim dim_from(const py::handle& object);
// Whether it is an int (also NumPy's) or a weft.Dim, and no bool.
bool is_dim(const py::handle& object);
py::tuple from_shape(const Shape& shape);
// Takes a dim or a sequence of dims.
Shape shape_from(const py::handle& object);
// From an int, also NumPy's; not from a bool or a Tensor.
std::int64_t integer_from(const py::handle& object);
// From a sequence of ints, or one int.
Integers integers_from(const py::handle& object);

// In a type, a dim may also be a name, which is that of its symbol, or None:
// the symbol of its axis.
TensorType type_of(const py::handle& dtype, const py::handle& shape);
// A weft.TensorType, or something with a dtype and a shape.
TensorType type_from(const py::handle& object);

// A number of Python, which takes the dtype of tensors that it meets.
bool is_number(const py::handle& object);
// Such a number as a tensor. Throws Error(kInvalidArgument) for a fraction
// where integers are due.
Value number_from(const py::handle& object, DType dtype);
// What it is on its own: f32, i64 or bool, and f64 if it is NumPy's.
DType default_dtype(const py::handle& number);

// Shares the bytes of an array where they lie dense and in order, and copies
// them elsewhere.
Tensor tensor_from_array(const py::handle& array);
// An array that reads the tensor's bytes and keeps them alive.
py::object array_from_tensor(const Tensor& tensor);

// Whatever Weft can compute with: a Tensor, a Variable (what it holds now), an
// array of NumPy, something that speaks DLPack, a number, or nested lists of
// numbers. Throws Error(kInvalidArgument) for anything else.
Value value_from(const py::handle& object);
// The same for each of several.
std::vector<Tensor> tensors_from(const py::handle& objects);
// The same, for what is surely a tensor already: no new lists and numbers.
bool is_array(const py::handle& object);

// An attribute of an op, of the kind that `like` has.
Attribute attribute_from(const py::handle& object, const Attribute& like);
py::object from_attribute(const Attribute& attribute);

}  // namespace weft::python
