// weft.Dim and weft.TensorType.
#include <pybind11/operators.h>

#include "python/src/convert.h"

#include "weft/tensor/symbol.h"

namespace weft::python {
namespace {

py::object with(const SymbolicDim& a, const py::handle& b,
                Dim (*combine)(Dim, Dim), bool is_reflected = false) {
  // Python then asks the other operand, and raises its own TypeError.
  if (!is_dim(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  const Dim other = dim_from(b);
  // A difference depends on which side the dim stands.
  return from_dim(is_reflected ? combine(other, a.dim) : combine(a.dim, other));
}

void bind_dim(py::module_& module) {
  py::class_<SymbolicDim>(
      module, "Dim", "A size that is known only when a staged function runs.")
      .def(py::init([](const std::string& name) {
             return SymbolicDim{symbol(name)};
           }),
           py::arg("name"))
      .def("__add__", [](const SymbolicDim& a,
                         const py::object& b) { return with(a, b, dim_add); })
      .def("__radd__", [](const SymbolicDim& a,
                          const py::object& b) { return with(a, b, dim_add); })
      .def("__sub__",
           [](const SymbolicDim& a, const py::object& b) {
             return with(a, b, dim_subtract);
           })
      .def("__rsub__",
           [](const SymbolicDim& a, const py::object& b) {
             return with(a, b, dim_subtract, /*is_reflected=*/true);
           })
      .def("__mul__",
           [](const SymbolicDim& a, const py::object& b) {
             return with(a, b, dim_multiply);
           })
      .def("__rmul__",
           [](const SymbolicDim& a, const py::object& b) {
             return with(a, b, dim_multiply);
           })
      .def("__floordiv__",
           [](const SymbolicDim& a, std::int64_t divisor) {
             // No size is below 0, and a divisor below 0 would make one.
             if (divisor <= 0) {
               throw Error(ErrorCode::kInvalidArgument, "Dim",
                           "{} is no divisor of a dim", divisor);
             }
             return from_dim(dim_floor_divide(a.dim, divisor));
           })
      .def("__eq__",
           [](const SymbolicDim& a, const py::object& b) {
             return py::isinstance<SymbolicDim>(b) &&
                    py::cast<const SymbolicDim&>(b).dim == a.dim;
           })
      // A class that defines __eq__ has no hash until it says so.
      .def("__hash__", [](const SymbolicDim& a) { return a.dim; })
      .def("__repr__", [](const SymbolicDim& a) { return to_string(a.dim); });
}

void bind_tensor_type(py::module_& module) {
  py::class_<TensorType>(module, "TensorType",
                         "A dtype and a shape. A dim may be a name or None: "
                         "then any size may come there.")
      .def(py::init([](const py::object& dtype, const py::object& shape) {
             return type_of(dtype, shape);
           }),
           py::arg("dtype"), py::arg("shape") = py::tuple())
      .def_property_readonly("dtype",
                             [](const TensorType& type) {
                               return std::string(to_string(type.dtype));
                             })
      .def_property_readonly(
          "shape",
          [](const TensorType& type) { return from_shape(type.shape); })
      .def("__eq__",
           [](const TensorType& a, const py::object& b) {
             return py::isinstance<TensorType>(b) &&
                    a == py::cast<const TensorType&>(b);
           })
      .def("__hash__",
           [](const TensorType& type) {
             // Equal types are written alike.
             return std::hash<std::string>()(to_string(type));
           })
      .def("__repr__", [](const TensorType& type) {
        return fmt::format("TensorType({})", to_string(type));
      });
}

}  // namespace

void bind_types(py::module_& module) {
  module.def("_prepare_numpy", &prepare_numpy);
  bind_dim(module);
  bind_tensor_type(module);
}

}  // namespace weft::python
