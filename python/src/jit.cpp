// weft.jit: a Python callable over weft::JitFunction.
#include <cctype>
#include <optional>

#include "python/src/convert.h"
#include "python/src/operators.h"
#include "python/src/tree.h"

#include "weft/base/quantity.h"
#include "weft/drawing/graph_drawing.h"
#include "weft/files/exported.h"
#include "weft/graph/text.h"
#include "weft/runtime/jit/jit_function.h"

namespace weft::python {
namespace {

// A tensor argument inside the function is a symbol.
py::object with_symbols(const py::handle& tree, std::span<const Value> symbols,
                        std::size_t& next) {
  // map_leaves() meets tensors in the order in which CallArguments took them.
  return map_leaves(tree, [&](const py::handle& leaf) {
    if (!is_tensor_leaf(leaf) && !py::isinstance<TensorType>(leaf)) {
      return py::reinterpret_borrow<py::object>(leaf);
    }
    return py::cast(symbols[next++]);
  });
}

class Jit {
 public:
  Jit(py::object callable, JitOptions options)
      : callable_(share(std::move(callable))), core_(std::move(options)) {}

  py::object callable() const {
    return py::reinterpret_borrow<py::object>(callable_.get());
  }
  const JitFunction& core() const { return core_; }

  py::object call(const py::tuple& positional, const py::dict& keywords) {
    CallArguments given(positional, keywords, /*allow_types=*/false);
    JitFunction::Results results;
    {
      // The call may wait for a trace of another thread, which needs the GIL.
      const py::gil_scoped_release nogil;
      results = core_.call(std::move(given.arguments()),
                           tracer(positional, keywords));
    }
    return returned(results);
  }

  GraphFunctionRef graph(const py::args& positional,
                         const py::kwargs& keywords) {
    CallArguments given(positional, keywords, /*allow_types=*/true);
    const py::gil_scoped_release nogil;
    return core_.graph(std::move(given.arguments()),
                       tracer(positional, keywords));
  }

 private:
  // Called without the GIL, while the call that it is for waits.
  JitFunction::Body tracer(const py::tuple& positional,
                           const py::dict& keywords) {
    return [this, &positional, &keywords](std::span<const Value> symbols) {
      const py::gil_scoped_acquire gil;
      std::size_t next = 0;
      const py::tuple arguments = with_symbols(positional, symbols, next);
      const py::dict named = with_symbols(keywords, symbols, next);
      JitFunction::Results results;
      results.structure =
          // What is no tensor is returned as it was when the function was
          // traced.
          share(take_tensors(call_python(callable_, arguments, named),
                             results.tensors, /*all=*/false));
      return results;
    };
  }

  static py::object returned(const JitFunction::Results& results) {
    if (results.structure == nullptr) {  // a call of itself, while tracing
      return from_results(results.tensors);
    }
    const auto* tree = static_cast<const PyObject*>(results.structure.get());
    return fill_slots(const_cast<PyObject*>(tree), results.tensors);
  }

  SharedObject callable_;
  JitFunction core_;
};

std::vector<TensorType> types_from(const py::handle& objects) {
  std::vector<TensorType> types;
  for (const auto each : objects) types.push_back(type_from(each));
  return types;
}

// Warnings of Python, so that filters apply.
void warn(const std::string& text) {
  // Calls of the core run without it.
  const py::gil_scoped_acquire gil;
  call_python(share(py::module_::import("warnings").attr("warn")),
              py::make_tuple(text, py::handle(PyExc_RuntimeWarning)));
}

// The callable's, without what no name in a graph has: "<lambda>".
std::string graph_name(const py::handle& callable) {
  std::string name;
  const std::string own =
      // A functools.partial or an object with __call__ has no name.
      py::str(py::getattr(callable, "__name__", py::str("jit")));
  for (const char c : own) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') name += c;
  }
  return name.empty() ? "jit" : name;
}

// Which search for faster graphs a word stands for.
std::optional<SearchOptions> search_options(const std::string& word) {
  if (word == "none") return std::nullopt;
  if (word == "greedy") return SearchOptions{.alpha = 1, .in_training = true};
  if (word == "relaxed") return SearchOptions{.in_training = true};
  throw Error(ErrorCode::kInvalidArgument, "jit", "optimize is no '{}'", word)
      .hint("it is \"none\", \"greedy\" or \"relaxed\"");
}

// "200MB", or a number of bytes.
std::optional<std::size_t> memory_limit(const py::object& memory) {
  if (memory.is_none()) return std::nullopt;
  const auto bytes =
      py::isinstance<py::str>(memory)
          ? parse_quantity(memory.cast<std::string>(), kByteUnits)
          : memory.cast<double>();
  if (bytes && *bytes >= 1) return static_cast<std::size_t>(*bytes);
  throw Error(ErrorCode::kInvalidArgument, "jit", "memory is no '{}'",
              std::string(py::str(memory)))
      .hint("it is bytes, as a number or as \"200MB\"");
}

std::unique_ptr<Jit> make_jit(py::object callable, const py::object& signature,
                              const py::object& results, bool relax_dims,
                              bool fuse, const std::string& optimize,
                              const py::object& memory, std::size_t max_graphs,
                              std::size_t warn_after, std::int64_t max_frames,
                              int workers, std::optional<bool> batching) {
  JitOptions options;
  options.name = graph_name(callable);
  if (!signature.is_none()) options.signature = types_from(signature);
  if (!results.is_none()) options.results = types_from(results);
  options.relax_dims = relax_dims;
  options.fuse = fuse;
  options.search = search_options(optimize);
  options.memory_limit = memory_limit(memory);
  options.max_graphs = max_graphs;
  options.warn_after = warn_after;
  // It is refused here, at the decorator, and not at the first call.
  if (max_frames < 1 || workers < 0) {
    throw Error(ErrorCode::kInvalidArgument, "jit",
                "{} frames and {} workers run nothing", max_frames, workers)
        .hint("max_frames >= 1; workers >= 0, where 0 leaves it to Weft");
  }
  options.tagged.max_frames = max_frames;
  options.tagged.workers = workers;
  if (batching) {
    options.tagged.batching = *batching ? Batching::kAlways : Batching::kNever;
  }
  options.warn = warn;
  return std::make_unique<Jit>(std::move(callable), std::move(options));
}

// Null before the object is made.
Jit* jit_of(PyObject* self) {
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  return static_cast<Jit*>(instance->get_value_and_holder().value_ptr());
}

// A call as Python makes it: pybind11's dispatcher, which looks for the
// overload that fits, would take longer than a short graph.
PyObject* call_jit(PyObject* self, PyObject* positional, PyObject* keywords) {
  Jit* jit = jit_of(self);
  if (jit == nullptr) {
    PyErr_SetString(PyExc_TypeError, "weft.Jit.__init__() was not called");
    return nullptr;
  }
  try {
    const py::dict named = keywords == nullptr
                               ? py::dict()
                               : py::reinterpret_borrow<py::dict>(keywords);
    return jit->call(py::reinterpret_borrow<py::tuple>(positional), named)
        .release()
        .ptr();
  } catch (...) {
    // Functions of pybind11 raise what they throw.
    const py::cpp_function raise([thrown = std::current_exception()] {
      std::rethrow_exception(thrown);
    });
    return PyObject_CallNoArgs(raise.ptr());
  }
}

// A function that refers to itself is a cycle through C++. The collector may
// look before the object is made.
void make_callable(PyHeapTypeObject* heap_type) {
  PyTypeObject& type = heap_type->ht_type;
  type.tp_call = &call_jit;
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
    // Objects of heap types hold their type, and have to say so.
    Py_VISIT(Py_TYPE(self));
    if (const Jit* jit = jit_of(self)) Py_VISIT(jit->callable().ptr());
    return 0;
  };
  // A Jit is never without its function; what else the cycle goes through, such
  // as a dict, breaks it.
  type.tp_clear = [](PyObject*) { return 0; };
}

}  // namespace

void bind_jit(py::module_& module) {
  const py::class_<Slot> slot(module, "Slot");
  py::class_<GraphFunction, GraphFunctionRef>(
      module, "GraphFunction",
      "What a staged function runs for some arguments.")
      .def("__repr__",
           [](const GraphFunction& function) {
             return to_string(function.graph());
           })
      .def(
          "svg",
          [](const GraphFunction& function) {
            return drawing::graph_svg(function.graph());
          },
          "A picture: nodes by what they do, types where one points at them.")
      .def("_repr_html_",
           [](const GraphFunction& function) {
             // Large pictures are scrolled in their cell of a notebook.
             return "<div style=\"overflow:auto;max-height:640px\">" +
                    drawing::graph_svg(function.graph()) + "</div>";
           })
      .def_property_readonly("name", [](const GraphFunction& function) {
        return function.function().name();
      });
  py::class_<Jit>(module, "Jit", py::custom_type_setup(&make_callable))
      .def(py::init(&make_jit), py::arg("function"), py::kw_only(),
           py::arg("input_signature"), py::arg("results"),
           py::arg("relax_dims"), py::arg("fuse"), py::arg("optimize"),
           py::arg("memory"), py::arg("max_graphs"), py::arg("warn_after"),
           py::arg("max_frames"), py::arg("workers"), py::arg("batching"))
      .def(
          "__get__",
          [](const py::object& self, const py::object& object,
             const py::object&) {
            // It is looked up on the class itself.
            if (object.is_none()) return self;
            return py::reinterpret_steal<py::object>(
                PyMethod_New(self.ptr(), object.ptr()));
          },
          py::arg("object"), py::arg("type") = py::none())
      .def("graph", &Jit::graph,
           "The graph that a call with these arguments runs.")
      .def("export",
           [](Jit& self, const std::string& path, const py::args& positional,
              const py::kwargs& keywords) {
             const GraphFunctionRef graph = self.graph(positional, keywords);
             const py::gil_scoped_release nogil;
             export_function(path, *graph);
           })
      .def_property_readonly("__wrapped__", &Jit::callable)
      .def_property_readonly("name",
                             [](const Jit& self) {
                               return py::getattr(self.callable(), "__name__",
                                                  py::str("jit"));
                             })
      .def_property_readonly(
          "trace_count",
          [](const Jit& self) { return self.core().trace_count(); })
      .def_property_readonly("graph_count", [](const Jit& self) {
        const py::gil_scoped_release nogil;
        return self.core().graph_count();
      });
}

}  // namespace weft::python
