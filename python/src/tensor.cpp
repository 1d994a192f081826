// weft.Tensor: a Value, concrete or staged.
#include <pybind11/numpy.h>

#include "python/src/convert.h"
#include "python/src/dlpack.h"
#include "python/src/indexing.h"
#include "python/src/operators.h"

#include "weft/base/parallel.h"
#include "weft/graph/registry.h"
#include "weft/ops/matmul.h"
#include "weft/ops/shape.h"
#include "weft/tensor/symbol.h"

namespace weft::python {
namespace {

// The message of Value::tensor() without a line of this file.
const Tensor& numbers(const Value& value) { return value.tensor({}); }

// bf16 as f32: NumPy can print and list that.
Tensor printable(const Value& value) {
  if (value.dtype() != DType::kBF16) return numbers(value);
  return numbers(run_op_one("cast", std::vector{Value(numbers(value))},
                            {{"dtype", DType::kF32}}));
}

std::string repr(const Value& value) {
  if (value.is_closed()) return "Tensor(of @" + value.function_name() + ")";
  if (value.is_staged()) {
    return fmt::format("Tensor({}, in @{})", to_string(value.type()),
                       value.function_name());
  }
  const py::object text = py::module_::import("numpy").attr("array2string")(
      array_from_tensor(printable(value)), py::arg("separator") = ", ",
      py::arg("prefix") = "Tensor(");
  return fmt::format("Tensor({}, {})", std::string(py::str(text)),
                     to_string(value.type()));
}

py::object item(const Value& value) {
  const Tensor& tensor = numbers(value);
  if (tensor.size() != 1) {
    throw Error(ErrorCode::kInvalidArgument, "tensor", "{} is not one number",
                to_string(tensor.type()));
  }
  if (tensor.dtype() == DType::kBool) return py::bool_(tensor.item() != 0);
  if (is_floating(tensor.dtype())) return py::float_(tensor.item());
  // item() gives a double, which has no room for all of these.
  if (tensor.dtype() == DType::kI64) {
    return py::int_(*tensor.data<std::int64_t>());
  }
  return py::int_(static_cast<std::int64_t>(tensor.item()));
}

Dim length(const Value& value) {
  if (value.shape().is_scalar()) {
    // It is what Python raises for len() of anything without one.
    throw py::type_error("a scalar has no length");
  }
  const Dim dim = value.shape()[0];
  if (is_symbolic(dim)) {
    throw Error(ErrorCode::kInvalidArgument, "tensor",
                "its length, {}, is known only when the function runs",
                to_string(dim))
        .hint("use shape[0], or scan() to go through it");
  }
  return dim;
}

py::iterator iterate(const Value& value) {
  py::list rows;
  // A staged tensor is taken apart into an op for each row; length() refuses
  // one whose rows are not known.
  const Dim size = length(value);
  for (Dim row = 0; row < size; ++row) {
    rows.append(py::cast(index(value, py::int_(row))));
  }
  return py::iter(rows);
}

py::object as_array(const Value& value, const py::object& dtype) {
  py::object array = array_from_tensor(numbers(value));
  return dtype.is_none() ? array : array.attr("astype")(dtype);
}

// The buffer protocol, read only: tensors are values.
int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  // The protocol asks for it where no buffer is given.
  view->obj = nullptr;
  try {
    const py::object array =
        array_from_tensor(numbers(py::cast<const Value&>(object)));
    // The view holds the array, and the array the tensor.
    return PyObject_GetBuffer(array.ptr(), view, flags);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  }
  return -1;
}

// Whether it is -1, also NumPy's, which dim_from() refuses.
bool is_rest(const py::handle& dim) {
  return is_dim(dim) && !py::isinstance<SymbolicDim>(dim) &&
         integer_from(dim) == -1;
}

// What NumPy calls to, and -1 for what is left.
Value reshaped(const Value& x, const py::args& dims) {
  // x.reshape(2, 3) and x.reshape((2, 3)) mean the same.
  const py::handle given = dims.size() == 1 && !is_dim(dims[0])
                               ? py::handle(dims[0])
                               : py::handle(dims);
  Shape shape;
  for (const auto dim : given) {
    shape.push_back(is_rest(dim) ? -1 : dim_from(dim));
  }
  return weft::reshape(Operand(x, {}), shape);
}

bool can_compute(const py::handle& object) {
  // For anything else Python asks the other operand, and raises a TypeError if
  // that cannot either.
  return is_number(object) || is_array(object) ||
         held<Variable>(object) != nullptr || py::isinstance<py::list>(object);
}

using Class = py::class_<Value>;

// What an operator makes of its operands.
using Meaning = std::function<py::object(std::span<const Value>)>;

// It is one op of bools and another of numbers.
struct Meanings {
  const OpDef& of_bools;
  const OpDef& of_numbers;

  static Meanings always(const char* name) {
    const OpDef& op = op_registry().get(name);
    return {op, op};
  }
  static Meanings either(const char* of_bools, const char* of_numbers) {
    return {op_registry().get(of_bools), op_registry().get(of_numbers)};
  }

  py::object operator()(std::span<const Value> operands) const {
    const bool is_logic = std::ranges::all_of(operands, [](const Value& each) {
      return each.dtype() == DType::kBool;
    });
    return from_results(run_op(is_logic ? of_bools : of_numbers, operands));
  }
};

// Vectors are rows and columns, which the op knows nothing of.
py::object product_of(std::span<const Value> operands) {
  return py::cast(run_ops([&](const Location& where) {
    return matmul(operands[0], operands[1], {}, where);
  }));
}

// x.__add__(y) and y.__radd__(x).
void bind_binary(Class& tensor, const char* name, const char* reflected,
                 const Meaning& meaning) {
  const auto bind = [&](const char* method, bool is_reflected) {
    tensor.def(method, [meaning, is_reflected](const py::object& self,
                                               const py::object& other) {
      if (!can_compute(other)) {
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
      }
      const std::array<py::handle, 2> operands =
          is_reflected ? std::array<py::handle, 2>{other, self}
                       : std::array<py::handle, 2>{self, other};
      return meaning(pair_from(operands));
    });
  };
  bind(name, false);
  if (reflected != nullptr) bind(reflected, true);
}

void bind_binary(Class& tensor, const char* name, const char* reflected,
                 const char* op_name) {
  bind_binary(tensor, name, reflected, Meanings::always(op_name));
}

void bind_unary(Class& tensor, const char* name, const Meanings& meanings) {
  tensor.def(name, [meanings](const Value& self) {
    return meanings(std::vector{self});
  });
}

void bind_arithmetic(Class& tensor) {
  bind_binary(tensor, "__add__", "__radd__", "add");
  bind_binary(tensor, "__sub__", "__rsub__", "subtract");
  bind_binary(tensor, "__mul__", "__rmul__", "multiply");
  bind_binary(tensor, "__pow__", "__rpow__", "power");
  bind_binary(tensor, "__matmul__", "__rmatmul__", product_of);
  // Python turns comparisons round by itself.
  bind_binary(tensor, "__eq__", nullptr, "equal");
  bind_binary(tensor, "__ne__", nullptr, "not_equal");
  bind_binary(tensor, "__lt__", nullptr, "less");
  bind_binary(tensor, "__le__", nullptr, "less_equal");
  bind_binary(tensor, "__gt__", nullptr, "greater");
  bind_binary(tensor, "__ge__", nullptr, "greater_equal");
  bind_binary(tensor, "__floordiv__", "__rfloordiv__", "floor_divide");
  bind_binary(tensor, "__mod__", "__rmod__", "remainder");
  bind_binary(tensor, "__lshift__", "__rlshift__", "shift_left");
  bind_binary(tensor, "__rshift__", "__rrshift__", "shift_right");
  bind_binary(tensor, "__and__", "__rand__",
              Meanings::either("logical_and", "bitwise_and"));
  bind_binary(tensor, "__or__", "__ror__",
              Meanings::either("logical_or", "bitwise_or"));
  bind_binary(tensor, "__xor__", "__rxor__",
              Meanings::either("logical_xor", "bitwise_xor"));
  bind_unary(tensor, "__neg__", Meanings::always("negate"));
  bind_unary(tensor, "__abs__", Meanings::always("abs"));
  bind_unary(tensor, "__invert__",
             Meanings::either("logical_not", "bitwise_not"));
  // The quotient of integers is no integer in Python.
  const auto quotient = [](const py::handle& a, const py::handle& b) {
    const std::array<py::handle, 2> objects{a, b};
    std::vector<Value> operands = pair_from(objects);
    for (Value& operand : operands) {
      if (is_floating(operand.dtype())) continue;
      operand =
          run_op_one("cast", std::vector{operand}, {{"dtype", DType::kF32}});
    }
    return run_op_one("divide", operands);
  };
  tensor.def(
      "__truediv__", [quotient](const py::object& a, const py::object& b) {
        return can_compute(b)
                   ? py::cast(quotient(a, b))
                   : py::reinterpret_borrow<py::object>(Py_NotImplemented);
      });
  tensor.def(
      "__rtruediv__", [quotient](const py::object& a, const py::object& b) {
        return can_compute(b)
                   ? py::cast(quotient(b, a))
                   : py::reinterpret_borrow<py::object>(Py_NotImplemented);
      });
}

void bind_properties(Class& tensor) {
  tensor
      .def_property_readonly(
          "shape", [](const Value& x) { return from_shape(x.shape()); })
      .def_property_readonly(
          "dtype",
          [](const Value& x) { return std::string(to_string(x.dtype())); })
      .def_property_readonly("ndim",
                             [](const Value& x) { return x.shape().rank(); })
      .def_property_readonly("size",
                             [](const Value& x) {
                               return from_dim(dim_product(x.shape().dims()));
                             })
      .def_property_readonly("is_staged", &Value::is_staged)
      .def_property_readonly("T", [](const Value& x) {
        return run_op_one("transpose", std::vector{x});
      });
}

void bind_exchange(Class& tensor) {
  // With this NumPy leaves `array + tensor` to the tensor. Else the sum would
  // be an array, and no graph or tape would know of it.
  tensor.attr("__array_ufunc__") = py::none();
  tensor
      .def(
          "__array__",
          [](const Value& x, const py::object& dtype, const py::object& copy) {
            const py::object array = as_array(x, dtype);
            // Who asks for a copy may write into it.
            const bool is_own = !copy.is_none() && py::cast<bool>(copy);
            return is_own ? py::object(array.attr("copy")()) : array;
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def(
          "numpy", [](const Value& x) { return as_array(x, py::none()); },
          "An array that reads this tensor's bytes.")
      .def(
          "__dlpack__",
          [](const Value& x, const py::object& stream,
             const py::object& max_version, const py::object& dl_device,
             const py::object& copy) {
            return to_dlpack(numbers(x), stream, max_version, dl_device, copy);
          },
          py::kw_only(), py::arg("stream") = py::none(),
          py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      // Device type 1 is the memory of the host.
      .def("__dlpack_device__",
           [](const Value&) { return py::make_tuple(1, 0); })
      .def("item", &item)
      .def("tolist",
           [](const Value& x) {
             return array_from_tensor(printable(x)).attr("tolist")();
           })
      .def("__float__", [](const Value& x) { return py::float_(item(x)); })
      .def("__int__", [](const Value& x) { return py::int_(item(x)); })
      .def("__bool__", [](const Value& x) { return static_cast<bool>(x); })
      .def("__index__", [](const Value& x) {
        // Python takes __index__ for lists and ranges, where a rounded number
        // would hide a mistake.
        if (!is_integer(x.dtype())) {
          throw py::type_error("only integers can be an index");
        }
        return item(x);
      });
}

}  // namespace

void bind_tensor(py::module_& module) {
  Class tensor(module, "Tensor",
               py::custom_type_setup([](PyHeapTypeObject* type) {
                 type->as_buffer.bf_getbuffer = &get_buffer;
                 type->ht_type.tp_as_buffer = &type->as_buffer;
               }));
  bind_properties(tensor);
  bind_exchange(tensor);
  bind_arithmetic(tensor);
  // == compares element by element, so tensors cannot be keys.
  bind_at(module);
  tensor.attr("__hash__") = py::none();
  tensor.def("__repr__", &repr)
      .def("__len__", &length)
      .def("__iter__", &iterate)
      .def("__getitem__",
           [](const Value& x, const py::object& key) { return index(x, key); })
      .def_property_readonly("at", [](const Value& x) { return At{x}; })
      .def("reshape", &reshaped)
      .def(
          "cast",
          [](const Value& x, const py::object& dtype) {
            return run_op_one("cast", std::vector{x},
                              {{"dtype", dtype_from(dtype)}});
          },
          py::arg("dtype"));

  module.def(
      "tensor",
      [](const py::object& object, const py::object& dtype) {
        // A number goes straight to its dtype: by way of f32 it would lose
        // digits.
        Value value = is_number(object) && !dtype.is_none()
                          ? number_from(object, dtype_from(dtype))
                          : value_from(object);
        if (dtype.is_none() || value.dtype() == dtype_from(dtype)) return value;
        return run_op_one("cast", std::vector{value},
                          {{"dtype", dtype_from(dtype)}});
      },
      py::arg("object"), py::arg("dtype") = py::none(),
      "A tensor of an array, whose bytes it shares, of numbers, or of lists.");
  module.def(
      "from_dlpack",
      [](const py::object& object) { return Value(from_dlpack(object)); },
      py::arg("object"));
  module.def(
      "set_threads",
      [](int count) {
        if (count < 1) {
          throw Error(ErrorCode::kInvalidArgument, "set_threads",
                      "{} threads compute nothing", count);
        }
        set_thread_count(count);
      },
      py::arg("count"),
      "How many threads ops compute with that this thread runs.");
  module.def("threads", &thread_count,
             "How many threads ops compute with that this thread runs.");
  module.def(
      "memory",
      [] {
        py::dict bytes;
        bytes["held"] = live_bytes();
        bytes["kept"] = pooled_bytes();
        return bytes;
      },
      "Bytes that tensors hold, and those of tensors that are gone, kept for "
      "the next ones.");
}

}  // namespace weft::python
