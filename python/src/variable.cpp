// weft.Variable.
#include "weft/graph/variable.h"

#include "python/src/convert.h"

namespace weft::python {
namespace {

// Where what is built shows in a graph: known only while one is built.
Location where() {
  return current_context().builder() != nullptr ? python_location()
                                                : Location();
}

// A variable owns its value: what is written into an array later is not its
// own.
Value own_value(const py::handle& object) {
  Value value = value_from(object);
  const bool is_shared = held<Value>(object) == nullptr &&
                         held<Variable>(object) == nullptr && is_array(object);
  return is_shared ? Value(value.tensor({}).clone()) : value;
}

// The variable's dtype decides what numbers become.
Value for_variable(const Variable& variable, const py::handle& object) {
  return is_number(object) ? number_from(object, variable.type().dtype)
                           : own_value(object);
}

// A number is no value of the function that may be traced just now.
Value first_value(const py::handle& object) {
  const ContextScope eager(eager_context());
  return own_value(object);
}

}  // namespace

void bind_variable(py::module_& module) {
  py::class_<Variable, std::shared_ptr<Variable>>(
      module, "Variable",
      "A tensor that keeps its identity while its value changes. Staged "
      "functions read and assign it in place.")
      .def(py::init([](const py::object& initial, const std::string& name,
                       bool is_trainable) {
             // The holder is shared, as a variable may also lie inside of a
             // module's parameter (nn.cpp).
             return std::make_shared<Variable>(
                 first_value(initial),
                 VariableOptions{.name = name, .is_trainable = is_trainable});
           }),
           py::arg("initial"), py::arg("name") = "",
           py::arg("is_trainable") = true)
      .def("read", &Variable::read)
      .def(
          "assign",
          [](const Variable& self, const py::object& value) {
            self.assign(for_variable(self, value), where());
          },
          py::arg("value"))
      .def(
          "assign_add",
          [](const Variable& self, const py::object& value) {
            self.assign_add(for_variable(self, value), where());
          },
          py::arg("value"))
      .def(
          "assign_subtract",
          [](const Variable& self, const py::object& value) {
            self.assign_subtract(for_variable(self, value), where());
          },
          py::arg("value"))
      .def_property_readonly("name", &Variable::name)
      .def_property_readonly("is_trainable", &Variable::is_trainable)
      .def_property_readonly("dtype",
                             [](const Variable& self) {
                               return std::string(to_string(self.type().dtype));
                             })
      .def_property_readonly(
          "shape",
          [](const Variable& self) { return from_shape(self.type().shape); })
      .def("__repr__", [](const Variable& self) {
        return fmt::format("Variable({}{})",
                           self.name().empty() ? "" : self.name() + ": ",
                           to_string(self.type()));
      });
}

}  // namespace weft::python
