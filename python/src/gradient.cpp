// weft.Tape, weft.value_and_grad.
#include <functional>
#include <optional>

#include "python/src/convert.h"
#include "python/src/tree.h"

#include "weft/nn/module.h"
#include "weft/runtime/eager.h"

namespace weft::python {
namespace {

std::vector<Value> gradients(Tape& tape, const Value& root,
                             const std::vector<Value>& wrt) {
  // The backward pass computes and takes locks of Weft, and neither goes with
  // the GIL (bind.h).
  const py::gil_scoped_release nogil;
  return tape.gradient(root, wrt);
}

// What gradients are asked for, and where they go: a tree of the sources with
// slots for the gradients. Of what has none, None.
class Sources {
 public:
  // Makes of a tensor what gradients are computed for.
  using Known = std::function<Value(const Value&)>;

  // What `known` makes of the tensors stands in replaced().
  Sources(const py::handle& tree, const Known& known)
      : replaced_(map_leaves(
            tree, [&](const py::handle& leaf) { return add(leaf, known); })) {
    // Both walks meet the leaves in the same order.
    std::size_t next = 0;
    slots_ =
        map_leaves(tree, [&](const py::handle&) { return leaves_[next++]; });
  }

  const py::object& replaced() const { return replaced_; }
  const std::vector<Value>& wrt() const { return wrt_; }
  py::object fill(std::span<const Value> gradients) const {
    return fill_slots(slots_, gradients);
  }

 private:
  py::object slot(Value source) {
    wrt_.push_back(std::move(source));
    return py::cast(Slot{wrt_.size() - 1});
  }

  py::object add(const py::handle& leaf, const Known& known) {
    auto same = py::reinterpret_borrow<py::object>(leaf);
    if (py::isinstance<nn::Module>(leaf)) {
      py::dict by_name;
      for (const auto& [name, parameter] :
           py::cast<const nn::Module&>(leaf).parameters()) {
        if (!parameter->is_trainable()) continue;
        by_name[py::str(name)] = slot(parameter->variable.read());
      }
      leaves_.push_back(by_name);
      return same;
    }
    if (py::isinstance<Variable>(leaf)) {
      leaves_.push_back(slot(py::cast<const Variable&>(leaf).read()));
      return same;
    }
    if (!is_tensor_leaf(leaf) && !is_number(leaf)) {
      leaves_.push_back(py::none());
      return same;
    }
    Value value = value_from(leaf);
    if (!is_floating(value.dtype())) {
      leaves_.push_back(py::none());
      return same;
    }
    value = known(value);
    leaves_.push_back(slot(value));
    return py::cast(value);
  }

  // These two stand before the trees, as making those fills them.
  std::vector<Value> wrt_;
  std::vector<py::object> leaves_;
  py::object replaced_;
  py::object slots_;
};

class PyTape {
 public:
  explicit PyTape(bool is_persistent) : is_persistent_(is_persistent) {}

  void enter() { tape_.emplace(TapeOptions{.is_persistent = is_persistent_}); }
  void exit() { tape().stop(); }
  void watch(Value& value) { tape().watch(value); }
  py::object gradient(const py::object& target, const py::object& sources) {
    const Sources wrt(sources, [](const Value& value) { return value; });
    return wrt.fill(gradients(tape(), value_from(target), wrt.wrt()));
  }

 private:
  Tape& tape() {
    if (!tape_) {
      throw Error(ErrorCode::kInvalidArgument, "tape", "it records nothing yet")
          .hint("with weft.Tape() as tape: ...");
    }
    return *tape_;
  }

  bool is_persistent_;
  std::optional<Tape> tape_;
};

// Which of the arguments a position means; negative ones count from the end.
std::size_t argument_place(const py::handle& position,
                           const py::tuple& arguments) {
  const auto count = static_cast<std::int64_t>(arguments.size());
  const auto at = position.cast<std::int64_t>();
  if (at < -count || at >= count) {
    throw Error(ErrorCode::kInvalidArgument, "grad",
                "argnums has {}, and there are {} arguments", at, count);
  }
  return static_cast<std::size_t>(at < 0 ? at + count : at);
}

// (result, gradients) of function(*arguments, **keywords), whose result, or
// first result, is a number.
py::tuple value_and_grad(const py::object& function, const py::object& argnums,
                         const py::object& wrt, const py::tuple& arguments,
                         const py::dict& keywords) {
  Tape tape;
  py::list given(arguments);
  py::list asked;
  // Integers of NumPy are none of Python's.
  const bool is_one = PyIndex_Check(argnums.ptr()) != 0;
  const py::tuple positions =
      is_one ? py::make_tuple(argnums) : py::tuple(argnums);
  if (wrt.is_none()) {
    for (const auto position : positions)
      asked.append(arguments[argument_place(position, arguments)]);
  }
  // The function is given its arguments as the tape knows them; what it has by
  // itself, it has already.
  const Sources sources(wrt.is_none() ? py::object(asked) : wrt,
                        [&](Value value) {
                          if (wrt.is_none()) return tape.argument(value);
                          tape.watch(value);
                          return value;
                        });
  if (wrt.is_none()) {
    const py::list replaced = sources.replaced();
    for (std::size_t i = 0; i < replaced.size(); ++i) {
      given[argument_place(positions[i], arguments)] = replaced[i];
    }
  }
  const py::object result = function(*py::tuple(given), **keywords);
  // Whatever follows the number in a tuple is the caller's own, and passes
  // through.
  const Value root = value_from(py::isinstance<py::tuple>(result)
                                    ? py::object(result[py::int_(0)])
                                    : result);
  if (root.shape().rank() != 0) {
    throw Error(ErrorCode::kInvalidArgument, "grad",
                "the function returned {}, and a gradient is that of a number",
                to_string(root.type()))
        .hint("take its sum or its mean");
  }
  py::object found = sources.fill(gradients(tape, root, sources.wrt()));
  if (wrt.is_none()) {
    found = is_one ? py::object(found[py::int_(0)]) : py::tuple(found);
  }
  return py::make_tuple(result, found);
}

}  // namespace

void bind_gradient(py::module_& module) {
  py::class_<PyTape>(module, "Tape",
                     "Records what runs in its with block, so that it can be "
                     "differentiated.")
      .def(py::init<bool>(), py::arg("persistent") = false)
      .def("__enter__",
           [](const py::object& self) {
             py::cast<PyTape&>(self).enter();
             return self;
           })
      .def("__exit__", [](PyTape& self, const py::args&) { self.exit(); })
      .def("watch", &PyTape::watch, py::arg("tensor"),
           "From here on, gradients with respect to the tensor are known.")
      .def("gradient", &PyTape::gradient, py::arg("target"), py::arg("sources"),
           "The gradients of a number, in the structure of the sources.");
  module.def("value_and_grad", &value_and_grad);
}

}  // namespace weft::python
