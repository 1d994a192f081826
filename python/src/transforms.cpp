// weft.vjp, weft.jvp, weft.custom_gradient, weft.remat, weft.vmap.
#include "weft/runtime/transforms.h"

#include <deque>
#include <map>

#include "python/src/convert.h"
#include "python/src/tree.h"

#include "weft/runtime/custom_gradient.h"
#include "weft/runtime/jit/jit_function.h"
#include "weft/runtime/jit/rematerialise.h"
#include "weft/runtime/jit/vmap.h"

namespace weft::python {
namespace {

// The tree with slots for what can change by little: tensors, and fractions.
py::object take_arguments(const py::handle& tree, std::vector<Value>& values) {
  return map_leaves(tree, [&](const py::handle& leaf) {
    if (!is_tensor_leaf(leaf) && !PyFloat_Check(leaf.ptr())) {
      return py::reinterpret_borrow<py::object>(leaf);
    }
    values.push_back(value_from(leaf));
    return py::cast(Slot{values.size() - 1});
  });
}

// What stands in `tree` where `slots` has slots; None stays undefined. Throws
// Error(kInvalidArgument) for another structure.
void collect(const py::handle& slots, const py::handle& tree, const char* what,
             std::vector<Value>& values) {
  if (const auto* slot = held<Slot>(slots)) {
    if (tree.is_none()) return;
    values[slot->index] = value_from(tree);
    return;
  }
  const bool is_list = PyList_CheckExact(slots.ptr()) != 0;
  const bool is_tuple = PyTuple_Check(slots.ptr()) != 0;
  const bool is_dict = PyDict_CheckExact(slots.ptr()) != 0;
  if (!is_list && !is_tuple && !is_dict) return;  // a leaf of another kind
  if (Py_TYPE(slots.ptr()) != Py_TYPE(tree.ptr()) ||
      py::len(slots) != py::len(tree)) {
    throw Error(ErrorCode::kInvalidArgument, what,
                "{} has another structure than {}",
                std::string(py::str(py::type::of(tree).attr("__name__"))),
                std::string(py::str(py::type::of(slots).attr("__name__"))))
        .hint("one value for each tensor, in the same containers");
  }
  const auto each = [&](const py::object& key) {
    collect(slots[key], tree[key], what, values);
  };
  if (is_dict) {
    for (const auto& item : py::reinterpret_borrow<py::dict>(slots)) {
      each(py::reinterpret_borrow<py::object>(item.first));
    }
    return;
  }
  for (std::size_t i = 0; i < py::len(slots); ++i) each(py::int_(i));
}

// A tree of values, None where there is no such value.
py::object fill_defined(const py::handle& slots,
                        const std::vector<Value>& values) {
  return map_leaves(slots, [&](const py::handle& leaf) -> py::object {
    const auto* slot = held<Slot>(leaf);
    if (slot == nullptr) return py::none();
    const Value& value = values[slot->index];
    return value.is_defined() ? py::cast(value) : py::none();
  });
}

// A Python function over flat values. The structure of what it returns is left
// in `returned`. To be called without the GIL.
Callable flat(const SharedObject& function, const py::tuple& slots,
              py::object& returned) {
  return [&, function](const std::vector<Value>& values) {
    const py::gil_scoped_acquire gil;
    std::vector<Value> outputs;
    const py::object result =
        call_python(function, py::tuple(fill_slots(slots, values)));
    returned = take_tensors(result, outputs, /*all=*/false);
    return outputs;
  };
}

struct PyPullBack {
  PullBack pull_back;
  py::tuple arguments;
  py::object returned;
  std::size_t outputs;

  py::object operator()(const py::object& seeds) const {
    std::vector<Value> given(outputs);
    collect(returned, seeds, "vjp", given);
    std::vector<Value> gradients;
    {
      const py::gil_scoped_release nogil;
      gradients = pull_back(given);
    }
    return fill_defined(arguments, gradients);
  }
};

py::tuple bind_vjp(const py::object& function, const py::args& arguments) {
  std::vector<Value> values;
  const py::tuple slots = take_arguments(py::tuple(arguments), values);
  py::object returned;
  const SharedObject callable = share(function);
  Vjp found;
  {
    const py::gil_scoped_release nogil;
    found = vjp(flat(callable, slots, returned), std::move(values));
  }
  const py::object result = fill_slots(returned, found.outputs);
  return py::make_tuple(result, PyPullBack{std::move(found.pull_back), slots,
                                           returned, found.outputs.size()});
}

py::tuple bind_jvp(const py::object& function, const py::tuple& arguments,
                   const py::tuple& tangents) {
  std::vector<Value> values;
  const py::tuple slots = take_arguments(arguments, values);
  std::vector<Value> moved(values.size());
  collect(slots, tangents, "jvp", moved);
  py::object returned;
  const SharedObject callable = share(function);
  Jvp found;
  {
    const py::gil_scoped_release nogil;
    found = jvp(flat(callable, slots, returned), std::move(values), moved);
  }
  return py::make_tuple(fill_slots(returned, found.outputs),
                        fill_defined(returned, found.tangents));
}

// A call of `forward`, whose gradient is what `backward` makes of what it
// saved.
py::object bind_custom_gradient(const py::object& forward,
                                const py::object& backward,
                                const py::tuple& arguments) {
  std::vector<Value> values;
  const py::tuple slots = take_arguments(arguments, values);
  const SharedObject make = share(forward);
  const SharedObject pull = share(backward);
  // The tapes keep these for as long as somebody may differentiate.
  const SharedObject own = share(slots);
  struct Structures {
    SharedObject returned, saved;
    std::size_t results = 0;
  };
  const auto structures = std::make_shared<Structures>();
  const auto run = [make, own, structures](const std::vector<Value>& given) {
    const py::gil_scoped_acquire gil;
    const py::object pair =
        call_python(make, py::tuple(fill_slots(own.get(), given)));
    if (!py::isinstance<py::tuple>(pair) || py::len(pair) != 2) {
      throw Error(ErrorCode::kInvalidArgument, "custom_gradient",
                  "the forward function returns (result, saved)");
    }
    WithSaved made;
    structures->returned =
        share(take_tensors(pair[py::int_(0)], made.results, /*all=*/false));
    structures->saved =
        share(take_tensors(pair[py::int_(1)], made.saved, /*all=*/false));
    structures->results = made.results.size();
    return made;
  };
  const auto go_back = [pull, own, structures, count = values.size()](
                           const std::vector<Value>& saved,
                           const std::vector<Value>& seeds) {
    const py::gil_scoped_acquire gil;
    py::object found = call_python(
        pull, py::make_tuple(fill_slots(structures->saved.get(), saved),
                             fill_defined(structures->returned.get(), seeds)));
    // One argument, one gradient.
    const py::handle trees = own.get();
    if (py::len(trees) == 1 && !py::isinstance<py::tuple>(found)) {
      found = py::make_tuple(found);
    }
    std::vector<Value> gradients(count);
    collect(trees, found, "custom_gradient", gradients);
    return gradients;
  };
  std::vector<Value> results;
  {
    const py::gil_scoped_release nogil;
    results = custom_gradient(values, run, go_back);
  }
  return fill_slots(structures->returned.get(), results);
}

// What function(*arguments) returns, in a function that is being traced.
py::object bind_rematerialised(const py::object& function,
                               const py::args& arguments,
                               const py::kwargs& keywords) {
  const SharedObject callable = share(function);
  py::object returned;
  std::vector<Value> results;
  {
    const py::gil_scoped_release nogil;
    results = rematerialised([&] {
      const py::gil_scoped_acquire gil;
      std::vector<Value> made;
      returned = take_tensors(call_python(callable, arguments, keywords), made,
                              /*all=*/false);
      return made;
    });
  }
  return fill_slots(returned, results);
}

// A callable over many instances. What Python says of axes is done in
// weft/transforms.py: here the instances are the leading axis.
class Vmap {
 public:
  explicit Vmap(py::object callable)
      : callable_(share(std::move(callable))), core_({.name = "vmap"}) {}

  // `is_mapped` has an entry for each tensor among the arguments. Returns the
  // result, and of each tensor in it whether it is stacked.
  py::tuple call(const py::tuple& positional, const py::dict& keywords,
                 const py::list& flags) {
    std::vector<bool> is_mapped;
    for (const auto flag : flags) is_mapped.push_back(py::cast<bool>(flag));
    std::vector<Value> tensors;
    const auto one_instance = [&](const py::handle& leaf) -> py::object {
      if (!is_tensor_leaf(leaf)) {
        return py::reinterpret_borrow<py::object>(leaf);
      }
      tensors.push_back(value_from(leaf));
      TensorType type = tensors.back().type();
      if (!is_mapped.at(tensors.size() - 1)) return py::cast(tensors.back());
      type.shape = Shape(type.shape.last(type.shape.rank() - 1));
      return py::cast(type);
    };
    const py::tuple first = map_leaves(positional, one_instance);
    const py::dict named = map_leaves(keywords, one_instance);
    const std::shared_ptr<Traced> traced = trace(first, named);
    std::vector<Value> results;
    py::list is_stacked;
    {
      const MappedFunction mapped = mapped_by(*traced, is_mapped);
      for (const bool each : mapped.is_stacked) is_stacked.append(each);
      const py::gil_scoped_release nogil;
      results = mapped.function->call(tensors);
    }
    return py::make_tuple(fill_slots(traced->returned, results), is_stacked);
  }

 private:
  // What is known of the function for one kind of arguments.
  struct Traced {
    GraphFunctionRef one;  // keeps its address its own
    py::object returned;
    std::map<std::vector<bool>, MappedFunction> mapped;
  };

  // Threads may take turns wherever it releases the GIL, so callers own what
  // they get.
  std::shared_ptr<Traced> trace(const py::tuple& positional,
                                const py::dict& keywords) {
    py::object returned;
    const GraphFunctionRef graph =
        graph_of(core_, positional, keywords, returned);
    if (!returned) {
      for (const auto& known : traced_) {
        if (known->one == graph) return known;
      }
      // Another thread has just traced it, or it was dropped here alone: only
      // a trace tells what it returns.
      JitFunction again({.name = "vmap"});
      graph_of(again, positional, keywords, returned);
    }
    // It keeps as many as the cache of traces does.
    if (traced_.size() >= kMost) traced_.pop_front();
    return traced_.emplace_back(
        std::make_shared<Traced>(Traced{graph, returned, {}}));
  }

  // `returned` stays as it is where the graph was known.
  GraphFunctionRef graph_of(JitFunction& core, const py::tuple& positional,
                            const py::dict& keywords, py::object& returned) {
    CallArguments given(positional, keywords, /*allow_types=*/true);
    const py::gil_scoped_release nogil;
    return core.graph(std::move(given.arguments()),
                      tracer(positional, keywords, returned));
  }

  static MappedFunction mapped_by(Traced& traced,
                                  const std::vector<bool>& is_mapped) {
    const auto known = traced.mapped.find(is_mapped);
    if (known != traced.mapped.end()) return known->second;
    MappedFunction made;
    {
      const py::gil_scoped_release nogil;
      made = vmap(*traced.one, is_mapped);
    }
    return traced.mapped.emplace(is_mapped, std::move(made)).first->second;
  }

  JitFunction::Body tracer(const py::tuple& positional,
                           const py::dict& keywords, py::object& traced) {
    return [&, this](std::span<const Value> symbols) {
      const py::gil_scoped_acquire gil;
      std::size_t next = 0;
      const auto with_symbols = [&](const py::handle& leaf) -> py::object {
        if (!is_tensor_leaf(leaf) && !py::isinstance<TensorType>(leaf)) {
          return py::reinterpret_borrow<py::object>(leaf);
        }
        return py::cast(symbols[next++]);
      };
      const py::tuple arguments = map_leaves(positional, with_symbols);
      const py::dict named = map_leaves(keywords, with_symbols);
      JitFunction::Results results;
      traced = take_tensors(call_python(callable_, arguments, named),
                            results.tensors, /*all=*/false);
      return results;
    };
  }

  static constexpr std::size_t kMost = 64;

  SharedObject callable_;
  JitFunction core_;
  std::deque<std::shared_ptr<Traced>> traced_;  // the newest last
};

}  // namespace

void bind_transforms(py::module_& module) {
  py::class_<PyPullBack>(module, "PullBack",
                         "The gradients of the arguments, from seeds in the "
                         "structure of the result.")
      .def("__call__", &PyPullBack::operator(), py::arg("seeds"));
  module.def("vjp", &bind_vjp, py::arg("function"));
  module.def("jvp", &bind_jvp, py::arg("function"), py::arg("arguments"),
             py::arg("tangents"));
  module.def("custom_gradient", &bind_custom_gradient, py::arg("forward"),
             py::arg("backward"), py::arg("arguments"));
  module.def("rematerialised", &bind_rematerialised, py::arg("function"));
  module.def("is_tensor_leaf", &is_tensor_leaf);
  module.def("is_tracing",
             [] { return current_context().builder() != nullptr; });
  py::class_<Vmap>(module, "Vmap")
      .def(py::init<py::object>(), py::arg("function"))
      .def("call", &Vmap::call);
}

}  // namespace weft::python
