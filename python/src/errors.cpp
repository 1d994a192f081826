#include <string>
#include <string_view>
#include <unordered_set>

#include "python/src/bind.h"

#include "weft/graph/index_check.h"

namespace weft::python {
namespace {

// Who raises what is no Exception, as KeyboardInterrupt and SystemExit, asks
// that all end; an Exception of a callable is a mistake in it.
ErrorCode code_of(const py::error_already_set& raised) {
  return raised.matches(PyExc_Exception) ? ErrorCode::kInvalidArgument
                                         : ErrorCode::kCancelled;
}

// A Python exception on its way through C++.
class PythonError : public Error {
 public:
  explicit PythonError(py::error_already_set& raised)
      : Error(code_of(raised), "python", "{}", raised.what()),
        type_(share(raised.type())),
        value_(share(raised.value())),
        trace_(share(raised.trace())) {}

  void restore() const {
    PyErr_Restore(owned(type_), owned(value_), owned(trace_));
  }

 private:
  static PyObject* owned(const SharedObject& object) {
    // PyErr_Restore() takes references over, and this exception may be raised
    // again.
    Py_XINCREF(object.get());
    return object.get();
  }

  SharedObject type_;
  SharedObject value_;
  SharedObject trace_;
};

struct ErrorTypes {
  py::object error;
  py::object invalid_argument;
  py::object unsupported;
  py::object index_error;
};

// Never destroyed: exceptions may be raised until the interpreter is gone.
ErrorTypes& types() {
  static auto* types = new ErrorTypes;
  return *types;
}

const py::object& exception_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return types().invalid_argument;
    case ErrorCode::kUnsupported:
      return types().unsupported;
    // Python has no counterpart of the others; `code` tells them apart.
    default:
      return types().error;
  }
}

void raise(const py::object& type, const Error& error) {
  // Messages show what stands in files, which need not be UTF-8.
  const std::string_view text = error.what();
  py::object raised = type(py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), std::ssize(text), "backslashreplace")));
  raised.attr("code") = std::string(to_string(error.code()));
  PyErr_SetObject(type.ptr(), raised.ptr());
}

void translate(std::exception_ptr thrown) {
  // The most special type comes first; what is none of these is left to
  // pybind11's own translators.
  try {
    std::rethrow_exception(thrown);
  } catch (const PythonError& error) {
    error.restore();
  } catch (const IndexError& error) {
    raise(types().index_error, error);
  } catch (const Error& error) {
    raise(exception_of(error.code()), error);
  }
}

py::object new_type(py::module_& module, const char* name, const char* doc,
                    const py::tuple& bases) {
  const auto full = std::string("weft.") + name;
  auto type = py::reinterpret_steal<py::object>(
      PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr));
  if (!type) throw py::error_already_set();
  module.attr(name) = type;
  return type;
}

// Locations live as long as graphs: the texts are kept, each once.
const char* interned(const std::string& text) {
  static auto* texts = new std::unordered_set<std::string>;  // under the GIL
  return texts->insert(text).first->c_str();
}

std::string text_of(PyObject* text) {
  const char* bytes = PyUnicode_AsUTF8(text);
  if (bytes != nullptr) return bytes;
  PyErr_Clear();
  return "?";
}

// The folder of the package's own Python files, with a '/' behind.
const std::string& package_folder() {
  static const std::string* folder = nullptr;  // under the GIL
  if (folder == nullptr) {
    const std::string file =
        py::str(py::module_::import("weft").attr("__file__"));
    folder = new std::string(file.substr(0, file.rfind('/') + 1));
  }
  return *folder;
}

}  // namespace

SharedObject share(py::object object) {
  return {object.release().ptr(), [](PyObject* held) {
            // Statics of C++ may outlive the interpreter, which has freed the
            // object by then.
            if (held == nullptr || Py_IsInitialized() == 0) return;
            const py::gil_scoped_acquire gil;
            Py_DECREF(held);
          }};
}

py::object call_python(const SharedObject& callable, const py::tuple& arguments,
                       const py::dict& keywords) {
  PyObject* result =
      PyObject_Call(callable.get(), arguments.ptr(), keywords.ptr());
  if (result != nullptr) return py::reinterpret_steal<py::object>(result);
  throw_raised();
}

void throw_raised() {
  py::error_already_set raised;
  throw PythonError(raised);
}

Location python_location() {
  Location location;
  auto frame = py::reinterpret_borrow<py::object>(
      reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* at = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code = py::reinterpret_steal<py::object>(
        reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    auto* compiled = reinterpret_cast<PyCodeObject*>(code.ptr());
    const std::string file = text_of(compiled->co_filename);
    // The package's own helpers call on behalf of the user, whose line is
    // wanted.
    if (!file.starts_with(package_folder())) {
      location.file = interned(file);
      location.line = static_cast<unsigned>(PyFrame_GetLineNumber(at));
      location.function = interned(text_of(compiled->co_name));
      break;
    }
    frame = py::reinterpret_steal<py::object>(
        reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
  return location;
}

void bind_errors(py::module_& module) {
  // Each is a built-in type too, so that code which knows nothing of Weft can
  // catch it.
  types().error = new_type(
      module, "Error",
      "What went wrong, where, and how to mend it. `code` says of what kind.",
      py::make_tuple(py::handle(PyExc_RuntimeError)));
  types().invalid_argument =
      new_type(module, "InvalidArgument", "The caller's mistake.",
               py::make_tuple(types().error, py::handle(PyExc_ValueError)));
  types().unsupported = new_type(
      module, "Unsupported", "Well-formed, but nothing here can do it.",
      py::make_tuple(types().error, py::handle(PyExc_NotImplementedError)));
  types().index_error = new_type(
      module, "IndexError", "An index outside of its axis.",
      py::make_tuple(types().invalid_argument, py::handle(PyExc_IndexError)));
  // This holds also where the package raises them itself.
  types().invalid_argument.attr("code") =
      std::string(to_string(ErrorCode::kInvalidArgument));
  types().unsupported.attr("code") =
      std::string(to_string(ErrorCode::kUnsupported));
  py::register_exception_translator(&translate);
}

}  // namespace weft::python
