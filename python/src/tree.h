// Nested tuples, lists and dicts with tensors in them.
//
// Named tuples keep their type. Leaves are whatever is none of these.
//
// Threads: with the GIL.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "python/src/bind.h"

#include "weft/runtime/jit/arguments.h"

namespace weft::python {

// A copy of the containers with other leaves.
py::object map_leaves(const py::handle& tree,
                      const std::function<py::object(const py::handle&)>& map);

// Stands for a tensor in a tree that outlives it.
struct Slot {
  std::size_t index;
};
// The tree with slots for its tensors, which are appended to `tensors`. With
// `all`, every leaf but None becomes a tensor; else others stay as they are.
py::object take_tensors(const py::handle& tree, std::vector<Value>& tensors,
                        bool all);
// Puts tensors into their slots.
py::object fill_slots(const py::handle& tree, std::span<const Value> tensors);

// Whether calls take it as a tensor: by type, not by value.
bool is_tensor_leaf(const py::handle& object);

// Arguments of one call: the key of its kind, and the tensors. map_leaves()
// meets the tensors in the same order.
class CallArguments {
 public:
  // With `allow_types`, a weft.TensorType stands for a tensor of that type.
  CallArguments(const py::tuple& positional, const py::dict& keywords,
                bool allow_types);

  Arguments& arguments() { return arguments_; }

 private:
  void add(const py::handle& object);
  void add_subclass(const py::handle& object);
  void add_items(const py::handle& items);
  void add_dict(const py::handle& dict);
  void add_other(const py::handle& object);

  bool allow_types_;
  Arguments arguments_;
  std::deque<Value> tensors_;  // addresses stay
};

}  // namespace weft::python
