#include "python/src/convert.h"

#include <cmath>
#include <pybind11/numpy.h>

#include "python/src/dlpack.h"

#include "weft/ops/constant.h"
#include "weft/tensor/holds.h"
#include "weft/tensor/symbol.h"

namespace weft::python {
namespace {

struct DTypeNames {
  DType dtype;
  const char* numpy;
};
constexpr DTypeNames kNames[] = {
    {DType::kF32, "float32"}, {DType::kF64, "float64"},
    {DType::kF16, "float16"}, {DType::kBF16, "bfloat16"},
    {DType::kI8, "int8"},     {DType::kU8, "uint8"},
    {DType::kI16, "int16"},   {DType::kI32, "int32"},
    {DType::kI64, "int64"},   {DType::kBool, "bool"},
};

std::optional<DType> known_dtype(const std::string& name) {
  if (const auto found = dtype_from_string(name)) return found;
  // Users write either "f32" or NumPy's "float32".
  for (const auto& names : kNames) {
    if (name == names.numpy) return names.dtype;
  }
  return std::nullopt;
}

std::string type_name(const py::handle& object) {
  return Py_TYPE(object.ptr())->tp_name;
}

Error no_tensor(const py::handle& object) {
  return Error(ErrorCode::kInvalidArgument, "tensor", "a {} is no tensor",
               type_name(object))
      .hint("give a Tensor, an array, a number, or nested lists of numbers");
}

// It takes NumPy's integers too, and no bool.
bool is_whole_number(const py::handle& object) {
  // A Tensor has an index as well, and would be read here behind the user's
  // back.
  return PyBool_Check(object.ptr()) == 0 && PyIndex_Check(object.ptr()) != 0 &&
         held<Value>(object) == nullptr;
}

Dim type_dim(const py::handle& object, int axis) {
  if (py::isinstance<py::str>(object))
    return symbol(py::cast<std::string>(object));
  if (object.is_none()) return symbol(fmt::format("N{}", axis));
  return dim_from(object);
}

Value value_from_list(const py::handle& list) {
  need_numpy();
  py::array array = py::array::ensure(list);
  // NumPy makes arrays of objects of what it cannot make numbers of.
  if (!array || array.dtype().kind() == 'O') {
    PyErr_Clear();
    throw no_tensor(list).detail("its elements are not numbers, or ragged");
  }
  // Lists have no dtype: the defaults of numbers hold.
  if (array.dtype().kind() == 'f') {
    array = array.attr("astype")("float32");
  }
  return tensor_from_array(array);
}

// Under the GIL.
PyObject* require = nullptr;

py::handle numpy_require() {
  need_numpy();
  return require;
}

}  // namespace

std::int64_t integer_from(const py::handle& object) {
  if (!is_whole_number(object)) {
    throw Error(ErrorCode::kInvalidArgument, "argument",
                "an integer is due, and this is a {}", type_name(object));
  }
  const auto number =
      py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!number) throw py::error_already_set();
  const long long value = PyLong_AsLongLong(number.ptr());
  // -1 may be the number itself.
  if (value == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return value;
}

void prepare_numpy() {
  // No static object of ours: its first use on two threads would wait for the
  // other's, with the GIL that the other needs. pybind11 has one of its own,
  // which is filled here, where one thread is.
  py::detail::npy_api::get();
  py::object found = py::module_::import("numpy").attr("require");
  require = found.release().ptr();
}

void need_numpy() {
  if (require == nullptr) py::module_::import("weft._numpy");
}

DType dtype_from(const py::handle& object) {
  std::string name;
  if (py::isinstance<py::str>(object)) {
    name = py::cast<std::string>(object);
  } else {
    need_numpy();
    name =
        py::str(py::dtype::from_args(py::reinterpret_borrow<py::object>(object))
                    .attr("name"));
  }
  if (const auto found = known_dtype(name)) return *found;
  std::vector<std::string> names;
  for (const auto& each : kNames) {
    names.emplace_back(to_string(each.dtype));
    names.emplace_back(each.numpy);
  }
  const std::string near = nearest(name, names);
  Error error(ErrorCode::kInvalidArgument, "dtype", "no dtype '{}'", name);
  if (!near.empty()) error.hint("did you mean '" + near + "'?");
  throw error;
}

py::object numpy_dtype(DType dtype) {
  need_numpy();
  if (dtype == DType::kBF16) {
    try {
      return py::dtype::from_args(
          py::module_::import("ml_dtypes").attr("bfloat16"));
    } catch (py::error_already_set&) {
      throw Error(ErrorCode::kUnsupported, "tensor", "NumPy has no bf16")
          .hint("cast it to f32, or install ml_dtypes");
    }
  }
  for (const auto& each : kNames) {
    if (each.dtype == dtype) return py::dtype(each.numpy);
  }
  return py::none();
}

py::object from_dim(Dim dim) {
  if (!is_symbolic(dim)) return py::int_(dim);
  return py::cast(SymbolicDim{dim});
}

bool is_dim(const py::handle& object) {
  return py::isinstance<SymbolicDim>(object) || is_whole_number(object);
}

Dim dim_from(const py::handle& object) {
  if (py::isinstance<SymbolicDim>(object)) {
    return py::cast<const SymbolicDim&>(object).dim;
  }
  const std::int64_t dim = integer_from(object);
  if (dim < 0) {
    throw Error(ErrorCode::kInvalidArgument, "shape", "{} is no size", dim);
  }
  return dim;
}

py::tuple from_shape(const Shape& shape) {
  py::tuple dims(static_cast<std::size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    dims[static_cast<std::size_t>(axis)] = from_dim(shape[axis]);
  }
  return dims;
}

Shape shape_from(const py::handle& object) {
  Shape shape;
  if (is_dim(object)) {
    shape.push_back(dim_from(object));
    return shape;
  }
  for (const auto dim : object) shape.push_back(dim_from(dim));
  return shape;
}

Integers integers_from(const py::handle& object) {
  Integers integers;
  if (is_whole_number(object)) return {integer_from(object)};
  for (const auto each : object) integers.push_back(integer_from(each));
  return integers;
}

TensorType type_of(const py::handle& dtype, const py::handle& shape) {
  TensorType type{dtype_from(dtype), {}};
  int axis = 0;
  for (const auto dim : shape) type.shape.push_back(type_dim(dim, axis++));
  return type;
}

TensorType type_from(const py::handle& object) {
  if (const auto* type = held<TensorType>(object)) return *type;
  if (const auto* value = held<Value>(object)) return value->type();
  return type_of(object.attr("dtype"), object.attr("shape"));
}

bool is_number(const py::handle& object) {
  return PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()) ||
         PyBool_Check(object.ptr());
}

DType default_dtype(const py::handle& number) {
  if (PyBool_Check(number.ptr())) return DType::kBool;
  if (PyLong_Check(number.ptr())) return DType::kI64;
  // np.float64 is a float of Python, but has a dtype.
  return PyFloat_CheckExact(number.ptr()) ? DType::kF32 : DType::kF64;
}

Value number_from(const py::handle& object, DType dtype) {
  const double number = PyFloat_AsDouble(object.ptr());
  // An int may be beyond all doubles.
  if (number == -1 && PyErr_Occurred() != nullptr)
    throw py::error_already_set();
  if (dtype == DType::kI64 && PyLong_Check(object.ptr()) &&
      !PyBool_Check(object.ptr())) {
    // Doubles do not reach all of them.
    return Tensor::scalar(
        integer_from(py::int_(py::reinterpret_borrow<py::object>(object))));
  }
  if (!is_floating(dtype) && number != std::floor(number)) {
    throw Error(ErrorCode::kInvalidArgument, "tensor",
                "{} cannot be computed with {}", number, to_string(dtype))
        .hint("cast the tensor to a floating dtype first");
  }
  // A cast would keep some bits of it, and nobody would be told.
  if (!holds(dtype, number)) {
    throw Error(ErrorCode::kInvalidArgument, "tensor", "{} does not fit {}",
                std::string(py::str(object)), to_string(dtype))
        .hint("cast the tensor to a wider dtype first");
  }
  return scalar(number, dtype);
}

bool is_array(const py::handle& object) {
  return held<Value>(object) != nullptr ||
         py::hasattr(object, "__array_interface__") ||
         py::hasattr(object, "__dlpack__");
}

Tensor tensor_from_array(const py::handle& object) {
  const std::string name = py::str(object.attr("dtype").attr("name"));
  const auto dtype = known_dtype(name);
  if (!dtype) {
    throw Error(ErrorCode::kUnsupported, "tensor", "no tensors of NumPy's {}",
                name);
  }
  py::object native = py::reinterpret_borrow<py::object>(object);
  // Files may hold numbers in the other byte order, which no kernel reads.
  if (!py::cast<bool>(native.attr("dtype").attr("isnative"))) {
    native =
        native.attr("astype")(native.attr("dtype").attr("newbyteorder")("="));
  }
  // "C" asks for dense rows, "A" for alignment; NumPy copies only what is not
  // so already.
  auto array = py::reinterpret_borrow<py::array>(
      numpy_require()(native, py::none(), py::make_tuple("C", "A")));
  Shape shape;
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
    shape.push_back(array.shape(axis));
  }
  // Tensors are values: nobody writes through this pointer.
  void* data = const_cast<void*>(array.data());
  // The tensor may die on any thread, with or without the GIL; a SharedObject
  // minds neither.
  auto* owner = new SharedObject(share(std::move(array)));
  return Tensor::wrap({*dtype, shape}, data, owner, [](void* held) {
    delete static_cast<SharedObject*>(held);
  });
}

py::object array_from_tensor(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  std::vector<py::ssize_t> shape(tensor.shape().begin(), tensor.shape().end());
  const py::object wanted = numpy_dtype(dtype);
  // pybind11 knows no bf16, so the array is made of words of its size and then
  // viewed.
  const py::object stored =
      dtype == DType::kBF16 ? py::object(py::dtype("uint16")) : wanted;
  const py::object base = py::cast(Value(tensor));
  // Said rather than asked of NumPy, whose dtypes older pybind11 misreads.
  const auto counts = row_major_strides(tensor.shape());
  std::vector<py::ssize_t> strides;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides.push_back(counts[axis] * static_cast<py::ssize_t>(size_of(dtype)));
  }
  py::array array(py::reinterpret_borrow<py::dtype>(stored), shape, strides,
                  tensor.raw(), base);
  if (dtype == DType::kBF16) {
    array = py::reinterpret_borrow<py::array>(array.attr("view")(wanted));
  }
  // Writing would change a value that others share.
  array.attr("flags").attr("writeable") = false;
  return array;
}

Value value_from(const py::handle& object) {
  if (const auto* value = held<Value>(object)) return *value;
  if (const auto* variable = held<Variable>(object)) return variable->read();
  // NumPy's float64 is an array too; as a number it takes part in the rules for
  // numbers.
  if (is_number(object)) return number_from(object, default_dtype(object));
  if (py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object)) {
    return value_from_list(object);
  }
  if (!is_array(object)) throw no_tensor(object);
  // What speaks both is taken as an array: that copies what is not dense, where
  // DLPack refuses it.
  if (py::hasattr(object, "__array_interface__")) {
    return tensor_from_array(object);
  }
  return from_dlpack(object);
}

namespace {

// An integer that lies between two doubles would lose its last digits.
double real_from(const py::handle& object) {
  const auto number = py::cast<double>(object);
  if (PyLong_Check(object.ptr()) && !py::float_(number).equal(object)) {
    throw Error(ErrorCode::kInvalidArgument, "attribute", "no double is {}",
                std::string(py::str(object)))
        .hint("give it as a tensor");
  }
  return number;
}

}  // namespace

Attribute attribute_from(const py::handle& object, const Attribute& like) {
  return std::visit(
      [&]<class T>(const T&) -> Attribute {
        if constexpr (std::is_same_v<T, bool>) {
          return py::cast<bool>(object);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return integer_from(object);
        } else if constexpr (std::is_same_v<T, double>) {
          return real_from(object);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return py::cast<std::string>(object);
        } else if constexpr (std::is_same_v<T, Integers>) {
          return integers_from(object);
        } else if constexpr (std::is_same_v<T, Shape>) {
          return shape_from(object);
        } else if constexpr (std::is_same_v<T, DType>) {
          return dtype_from(object);
        } else if constexpr (std::is_same_v<T, Tensor>) {
          return value_from(object).tensor({});
        } else {
          throw Error(ErrorCode::kUnsupported, "attribute",
                      "Python cannot give a function of a graph");
        }
      },
      like);
}

py::object from_attribute(const Attribute& attribute) {
  return std::visit(
      []<class T>(const T& value) -> py::object {
        if constexpr (std::is_same_v<T, bool>) {
          return py::bool_(value);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return py::int_(value);
        } else if constexpr (std::is_same_v<T, double>) {
          return py::float_(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return py::str(value);
        } else if constexpr (std::is_same_v<T, Integers>) {
          py::tuple items(value.size());
          for (std::size_t i = 0; i < value.size(); ++i) {
            items[i] = py::int_(value[i]);
          }
          return items;
        } else if constexpr (std::is_same_v<T, Shape>) {
          return from_shape(value);
        } else if constexpr (std::is_same_v<T, DType>) {
          return py::str(std::string(to_string(value)));
        } else {
          return py::none();
        }
      },
      attribute);
}

std::vector<Tensor> tensors_from(const py::handle& objects) {
  std::vector<Tensor> all;
  for (const auto each : objects) {
    // No line of C++ is given, as an error should name the user's.
    all.push_back(value_from(each).tensor({}));
  }
  return all;
}

}  // namespace weft::python
