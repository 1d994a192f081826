// weft.save, weft.restore, weft.load_function.

#include "python/src/convert.h"
#include "python/src/operators.h"

#include "weft/files/exported.h"
#include "weft/train/files/objects.h"

namespace weft::python {
namespace {

// The node of a Python object: variables are leaves; modules know their
// parameters; lists, dicts and other objects have edges by index, key and
// attribute, unless it starts with '_'. Each object is one node, however often
// it is met.
class ObjectGraph {
 public:
  Object root(const py::dict& named) {
    Object node;
    for (const auto& [name, object] : named) attach(node, name, object);
    return node;
  }

 private:
  void attach(Object& node, const py::handle& name, const py::handle& object) {
    const std::string edge = py::str(name);
    if (py::isinstance<Variable>(object)) {
      node.attach(edge, py::cast<const Variable&>(object));
    } else if (has_edges(object)) {
      node.attach(edge, node_of(object));
    }
  }

  static bool has_edges(const py::handle& object) {
    return py::isinstance<nn::Module>(object) || PyDict_Check(object.ptr()) ||
           PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) ||
           // Classes, functions and Python's modules lead to all of the
           // program; an object that can be called does not.
           (py::hasattr(object, "__dict__") && !PyType_Check(object.ptr()) &&
            !PyFunction_Check(object.ptr()) && !PyMethod_Check(object.ptr()) &&
            !PyModule_Check(object.ptr())) ||
           py::hasattr(object, "_checkpoint");
  }

  Object node_of(const py::handle& object) {
    const auto known = nodes_.find(object.ptr());
    if (known != nodes_.end()) return known->second;
    Object node = py::isinstance<nn::Module>(object)
                      ? object_of(py::cast<const nn::Module&>(object))
                      : Object();
    // It is known before its edges are followed, so that a cycle comes to an
    // end.
    nodes_.emplace(object.ptr(), node);
    met_.push_back(py::reinterpret_borrow<py::object>(object));
    if (py::hasattr(object, "_checkpoint")) {
      attach_all(node, object.attr("_checkpoint")());
    } else if (PyDict_Check(object.ptr())) {
      attach_all(node, object);
    } else if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
      std::size_t index = 0;
      for (const auto item : object) attach(node, py::int_(index++), item);
    } else if (py::hasattr(object, "__dict__")) {
      const py::object attributes = object.attr("__dict__");
      for (const auto& [name, value] :
           py::reinterpret_borrow<py::dict>(attributes)) {
        if (!py::cast<std::string>(name).starts_with('_')) {
          attach(node, name, value);
        }
      }
    }
    return node;
  }

  void attach_all(Object& node, const py::handle& named) {
    for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(named)) {
      attach(node, name, value);
    }
  }

  std::map<PyObject*, Object> nodes_;
  std::vector<py::object> met_;  // so that no address is used twice
};

}  // namespace

void bind_files(py::module_& module) {
  py::class_<Restored>(module, "Restored",
                       "How far a file and the program agree.")
      .def_property_readonly("missing", &Restored::missing)
      .def_property_readonly("unexpected", &Restored::unexpected)
      .def("require_complete", &Restored::require_complete);
  module.def(
      "save",
      [](const std::string& path, const py::kwargs& objects) {
        save_objects(path, ObjectGraph().root(objects));
      },
      py::arg("path"),
      "Writes the variables below the objects, under their names: "
      "save('run.safetensors', model=model, optimizer=optimizer).");
  module.def(
      "restore",
      [](const std::string& path, const py::kwargs& objects) {
        return restore_objects(path, ObjectGraph().root(objects));
      },
      py::arg("path"),
      "Gives the variables below the objects the values of the file, matched "
      "by the names of edges.");
  py::class_<ExportedFunction>(module, "ExportedFunction",
                               "A function that Jit.export() wrote.")
      .def(py::init([](const std::string& path, std::int64_t max_frames) {
             ExecutableOptions options;
             options.tagged.max_frames = max_frames;
             return std::make_unique<ExportedFunction>(path, options);
           }),
           py::arg("path"), py::kw_only(),
           py::arg("max_frames") = TaggedOptions().max_frames)
      .def_property_readonly(
          "arguments",
          [](const ExportedFunction& self) {
            py::list all;
            for (const auto& each : self.arguments()) {
              all.append(py::make_tuple(each.name, each.type));
            }
            return all;
          })
      .def(
          "save",
          [](const ExportedFunction& self, const std::string& path) {
            const py::gil_scoped_release nogil;
            export_function(path, self.function());
          },
          py::arg("path"), "Writes the function to a file by itself.")
      .def("__call__", [](ExportedFunction& self, const py::args& given) {
        const std::vector<Tensor> arguments = tensors_from(given);
        std::vector<Tensor> results;
        {
          const py::gil_scoped_release nogil;
          results = self.run(arguments);
        }
        return from_results({results.begin(), results.end()});
      });
}

}  // namespace weft::python
