// Branches, loops, host callbacks and scopes.
#include "weft/ops/control.h"

#include "python/src/convert.h"
#include "python/src/operators.h"
#include "python/src/scope_manager.h"
#include "python/src/tree.h"

#include "weft/graph/variable.h"
#include "weft/place/device.h"
#include "weft/runtime/host_func.h"

namespace weft::python {
namespace {

// What a callable returned, flattened; remembers how to put it together.
class Returned {
 public:
  explicit Returned(const char* where) : where_(where) {}

  std::vector<Value> take(const py::object& tree) {
    std::vector<Value> tensors;
    // All leaves become tensors: a branch may return 1 where the other returns
    // a tensor.
    py::object slots = take_tensors(tree, tensors, /*all=*/true);
    if (!slots_) {
      slots_ = std::move(slots);
    } else if (!shape_of(slots).equal(shape_of(slots_))) {
      throw Error(ErrorCode::kInvalidArgument, where_,
                  "its functions return different structures");
    }
    return tensors;
  }
  py::object fill(std::span<const Value> tensors) const {
    return fill_slots(slots_, tensors);
  }

 private:
  // The tree with positions for slots, which compare by value.
  static py::object shape_of(const py::object& slots) {
    return map_leaves(slots, [](const py::handle& leaf) -> py::object {
      if (leaf.is_none()) return py::none();
      return py::int_(py::cast<const Slot&>(leaf).index);
    });
  }

  const char* where_;
  py::object slots_;
};

py::object bind_cond(const py::object& predicate, const py::function& then,
                     const py::function& otherwise, const py::args& operands) {
  // One object takes both results, which is how different structures are found.
  Returned returned("cond");
  const auto branch = [&](const py::function& body) {
    return [&] { return returned.take(body(*operands)); };
  };
  const auto results = cond(value_from(predicate), branch(then),
                            branch(otherwise), python_location());
  return returned.fill(results);
}

py::object bind_switch(const py::object& index,
                       const std::vector<py::function>& branches,
                       const py::args& operands) {
  Returned returned("switch");
  std::vector<Branch> bodies;
  for (const py::function& body : branches) {
    bodies.emplace_back([&] { return returned.take(body(*operands)); });
  }
  const auto results =
      switch_case(value_from(index), bodies, python_location());
  return returned.fill(results);
}

py::object bind_while(const py::function& condition, const py::function& body,
                      const py::object& carried) {
  // What is carried, and what the body returns, must have one structure.
  Returned state("while_loop");
  const auto initial = state.take(carried);
  const auto results = while_loop(
      initial,
      [&](const std::vector<Value>& values) {
        return value_from(condition(state.fill(values)));
      },
      [&](const std::vector<Value>& values) {
        return state.take(body(state.fill(values)));
      },
      python_location());
  return state.fill(results);
}

py::object bind_scan(const py::function& body, const py::object& carried,
                     const py::object& scanned, bool reverse) {
  Returned state("scan");
  Returned slices("scan");
  Returned outputs("scan");
  const auto initial = state.take(carried);
  const auto along = slices.take(scanned);
  const auto results = scan(
      initial, along,
      [&](const std::vector<Value>& values, const std::vector<Value>& row) {
        const py::object pair = body(state.fill(values), slices.fill(row));
        if (!py::isinstance<py::tuple>(pair) || py::len(pair) != 2) {
          throw Error(ErrorCode::kInvalidArgument, "scan",
                      "its function returns (carried, output)");
        }
        std::vector<Value> all = state.take(pair[py::int_(0)]);
        for (Value& output : outputs.take(pair[py::int_(1)])) {
          all.push_back(std::move(output));
        }
        return all;
      },
      reverse, python_location());
  const std::span<const Value> all(results);
  return py::make_tuple(state.fill(all.first(initial.size())),
                        outputs.fill(all.subspan(initial.size())));
}

py::object bind_host_func(py::function function, const py::args& operands,
                          const py::object& results, const std::string& name) {
  std::vector<Value> values;
  for (const auto operand : operands) values.push_back(value_from(operand));
  // One type means one result, and no tuple around it.
  const bool is_one = py::isinstance<TensorType>(results);
  std::vector<TensorType> types;
  if (is_one) {
    types.push_back(type_from(results));
  } else {
    for (const auto each : results) types.push_back(type_from(each));
  }
  // The graph may outlive this call, and its workers hold no GIL.
  const auto callable = [function = share(std::move(function)),
                         is_one](const std::vector<Value>& given) {
    const py::gil_scoped_acquire gil;
    py::tuple arguments(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      arguments[i] = py::cast(given[i]);
    }
    const py::object returned = call_python(function, arguments);
    std::vector<Value> tensors;
    if (is_one) {
      tensors.push_back(value_from(returned));
    } else {
      for (const auto each : returned) tensors.push_back(value_from(each));
    }
    return tensors;
  };
  const auto made = host_func(callable, values, types, name, python_location());
  return is_one ? py::cast(made.front()) : from_results(made);
}

// A ScopeManager copies the arguments of its scope, and a context cannot be
// copied.
struct EagerScope {
  ContextScope scope{eager_context()};
};

using InitScope = ScopeManager<EagerScope>;
using DeviceManager = ScopeManager<DeviceScope, std::string>;

}  // namespace

void bind_control(py::module_& module) {
  module.def("cond", &bind_cond, py::arg("predicate"), py::arg("then"),
             py::arg("otherwise"),
             "What then(*operands) returns if the predicate holds, else what "
             "otherwise(*operands) does.");
  module.def("switch", &bind_switch, py::arg("index"), py::arg("branches"),
             "What branches[index](*operands) returns; in a function an index "
             "that names none means the nearest.");
  module.def("while_loop", &bind_while, py::arg("condition"), py::arg("body"),
             py::arg("carried"),
             "Applies body to what is carried as long as the condition holds.");
  module.def("scan", &bind_scan, py::arg("body"), py::arg("carried"),
             py::arg("scanned"), py::arg("reverse") = false,
             "Applies body(carried, slice) -> (carried, output) along the "
             "leading axis; the outputs are stacked.");
  module.def("host_func", &bind_host_func, py::arg("function"),
             py::arg("results"), py::arg("name") = "host_func",
             "Calls Python from a graph. The results' types must be said.");
  bind_manager<InitScope>(module, "init_scope",
                          "What runs in its with block runs at once, and once, "
                          "whatever is being traced.")
      .def(py::init<>());
  bind_manager<DeviceManager>(module, "device",
                              "Where what runs in its with block runs.")
      .def(py::init<std::string>(), py::arg("name"));
  module.def("devices", [] {
    py::list names;
    for (const std::string& name : devices()) names.append(name);
    return names;
  });
}

}  // namespace weft::python
