// What the files of the extension share. Each binds one part of Weft into
// the module weft._weft; none computes.
//
// The GIL: held while Python objects are looked at, released while Weft works,
// and always released before a lock of Weft is taken, since whoever holds that
// lock may be waiting for the GIL.
#pragma once

#include <memory>
#include <pybind11/pybind11.h>
// It stands here, as all sources must convert the same types alike.
#include <pybind11/stl.h>

#include "weft/graph/value.h"

namespace weft::python {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_types(py::module_& module);
void bind_tensor(py::module_& module);
void bind_operators(py::module_& module);
void bind_variable(py::module_& module);
void bind_gradient(py::module_& module);
void bind_control(py::module_& module);
void bind_transforms(py::module_& module);
void bind_jit(py::module_& module);
void bind_nn(py::module_& module);
void bind_optim(py::module_& module);
void bind_files(py::module_& module);
void bind_onnx(py::module_& module);
void bind_train(py::module_& module);
void bind_model(py::module_& module);
void bind_profile(py::module_& module);
void bind_data(py::module_& module);
void bind_validation(py::module_& module);
void bind_books(py::module_& module);

// A reference that may be copied and dropped without the GIL.
using SharedObject = std::shared_ptr<PyObject>;
SharedObject share(py::object object);

// Calls Python from C++ that Python called. What Python raises crosses Weft as
// a weft::Error and comes out as itself.
py::object call_python(const SharedObject& callable, const py::tuple& arguments,
                       const py::dict& keywords = py::dict());

// Throws what Python has raised, as a weft::Error.
[[noreturn]] void throw_raised();

// What a Python object of T or of a class derived from it holds, or null.
// Casts look a type up by its name, which would be a good part of a short call:
// here that is done once.
template <class T>
const T* held(const py::handle& object) {
  static const PyObject* const type = py::type::of<T>().ptr();
  if (reinterpret_cast<const PyObject*>(Py_TYPE(object.ptr())) == type) {
    auto* instance = reinterpret_cast<py::detail::instance*>(object.ptr());
    return static_cast<const T*>(instance->get_value_and_holder().value_ptr());
  }
  return py::isinstance<T>(object) ? &py::cast<const T&>(object) : nullptr;
}

// The Python line that is running, outside of the package.
Location python_location();

}  // namespace weft::python
