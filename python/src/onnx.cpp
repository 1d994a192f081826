// What weft.onnx is made of.
#include "weft/onnx/onnx.h"

#include "python/src/convert.h"

#include "weft/files/exported.h"

namespace weft::python {

void bind_onnx(py::module_& module) {
  module.def(
      "load_onnx",
      [](const std::string& path, const py::dict& shapes,
         const py::dict& fixed) {
        OnnxImportOptions options;
        for (const auto& [name, shape] : shapes) {
          options.shapes.emplace(py::cast<std::string>(name),
                                 type_of(py::str("f32"), shape).shape);
        }
        for (const auto& [name, value] : fixed) {
          options.fixed.emplace(py::cast<std::string>(name),
                                value_from(value).tensor({}));
        }
        const py::gil_scoped_release nogil;
        return std::make_unique<ExportedFunction>(import_onnx(path, options));
      },
      py::arg("path"), py::arg("shapes"), py::arg("fixed"));
  module.def(
      "save_onnx",
      [](const GraphFunction& function, const std::string& path) {
        const py::gil_scoped_release nogil;
        export_onnx(path, function);
      },
      py::arg("function"), py::arg("path"));
  module.def(
      "save_onnx",
      [](const ExportedFunction& function, const std::string& path) {
        const py::gil_scoped_release nogil;
        export_onnx(path, function.function());
      },
      py::arg("function"), py::arg("path"));
}

}  // namespace weft::python
