#include "python/src/tree.h"

#include <algorithm>
#include <unordered_map>

#include "python/src/convert.h"

namespace weft::python {
namespace {

// What the containers of a key are.
enum ContainerWord : std::int64_t {
  kTuple = 100,
  kList,
  kDict,
  kNamedTuple,
  kSlice,
  kMethod,
  kNone,
  kDimWord,
  kSubclass,
  kDigits,
};

bool is_named_tuple(const py::handle& object) {
  // Named tuples have no base of their own; `_fields` is how Python itself
  // tells them.
  return PyTuple_Check(object.ptr()) && !PyTuple_CheckExact(object.ptr()) &&
         py::hasattr(object, "_fields");
}

// Keyword arguments are the same in any order; so are dicts with such keys.
std::vector<std::pair<py::handle, py::handle>> items_of(const py::dict& dict) {
  std::vector<std::pair<py::handle, py::handle>> items;
  bool is_named = true;
  for (const auto& [key, value] : dict) {
    items.emplace_back(key, value);
    is_named = is_named && PyUnicode_Check(key.ptr()) != 0;
  }
  if (is_named) {
    std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
      return PyUnicode_Compare(a.first.ptr(), b.first.ptr()) < 0;
    });
  }
  return items;
}

template <class Container>
Container map_items(const py::handle& items,
                    const std::function<py::object(const py::handle&)>& map) {
  const auto size = static_cast<std::size_t>(PySequence_Size(items.ptr()));
  Container result(size);
  std::size_t next = 0;
  for (const auto item : items) result[next++] = map_leaves(item, map);
  return result;
}

// Lives as long as a Python object, which knows nothing of it.
using Token = std::shared_ptr<const void>;

Token token_of(const py::handle& object) {
  // It is never destroyed: objects die, and call back, until the interpreter is
  // gone.
  static auto* tokens = new std::unordered_map<PyObject*, Token>;
  const auto known = tokens->find(object.ptr());
  if (known != tokens->end()) return known->second;
  // Keys refer to the token weakly, so a dead object equals none, even where a
  // new one lies at its address.
  PyObject* address = object.ptr();
  const py::cpp_function forget([address](const py::handle& reference) {
    tokens->erase(address);
    reference.dec_ref();
  });
  // A weak reference calls back only while it lives: it is kept, and drops
  // itself in the callback.
  PyObject* reference = PyWeakref_NewRef(address, forget.ptr());
  if (reference == nullptr) {
    PyErr_Clear();
    throw Error(ErrorCode::kInvalidArgument, "jit",
                "a {} cannot be an argument: calls could not tell whether it "
                "is the same one",
                Py_TYPE(address)->tp_name)
        .hint(
            "pass tensors, numbers, texts, containers of them, or objects "
            "of a class");
  }
  return tokens->emplace(address, std::make_shared<int>(0)).first->second;
}

// Whether a subclass of dict or list has tensors among its items.
bool holds_tensors(const py::handle& object) {
  const auto is_tensor = [](const py::handle& item) {
    return is_tensor_leaf(item);
  };
  if (PyDict_Check(object.ptr())) {
    const auto dict = py::reinterpret_borrow<py::dict>(object);
    return std::any_of(dict.begin(), dict.end(), [&](const auto& item) {
      return is_tensor(item.second);
    });
  }
  if (!PyList_Check(object.ptr())) return false;
  const auto list = py::reinterpret_borrow<py::list>(object);
  return std::any_of(list.begin(), list.end(), is_tensor);
}

}  // namespace

py::object map_leaves(const py::handle& tree,
                      const std::function<py::object(const py::handle&)>& map) {
  // A subclass may mean more than its items, so it is a leaf.
  if (PyList_CheckExact(tree.ptr())) return map_items<py::list>(tree, map);
  if (PyTuple_CheckExact(tree.ptr())) return map_items<py::tuple>(tree, map);
  if (is_named_tuple(tree)) {
    return py::type::of(tree).attr("_make")(map_items<py::tuple>(tree, map));
  }
  if (PyDict_CheckExact(tree.ptr())) {
    // It keeps its own order, as a reader may go by that. The leaves are met in
    // the order in which CallArguments takes the items, so that tensors meet.
    auto result = py::reinterpret_steal<py::dict>(PyDict_Copy(tree.ptr()));
    for (const auto& [key, value] :
         items_of(py::reinterpret_borrow<py::dict>(tree))) {
      result[key] = map_leaves(value, map);
    }
    return result;
  }
  return map(tree);
}

py::object take_tensors(const py::handle& tree, std::vector<Value>& tensors,
                        bool all) {
  return map_leaves(tree, [&](const py::handle& leaf) {
    if (leaf.is_none() || (!all && held<Value>(leaf) == nullptr)) {
      return py::reinterpret_borrow<py::object>(leaf);
    }
    tensors.push_back(value_from(leaf));
    return py::cast(Slot{tensors.size() - 1});
  });
}

py::object fill_slots(const py::handle& tree, std::span<const Value> tensors) {
  return map_leaves(tree, [&](const py::handle& leaf) {
    const auto* slot = held<Slot>(leaf);
    if (slot == nullptr) return py::reinterpret_borrow<py::object>(leaf);
    return py::cast(tensors[slot->index]);
  });
}

bool is_tensor_leaf(const py::handle& object) {
  return held<Value>(object) != nullptr ||
         // NumPy's float64 is both an array and a number, and counts by value.
         (!is_number(object) && is_array(object));
}

CallArguments::CallArguments(const py::tuple& positional,
                             const py::dict& keywords, bool allow_types)
    : allow_types_(allow_types) {
  for (const auto argument : positional) add(argument);
  // Names are part of the key: f(a=1) and f(b=1) are different calls.
  for (const auto& [key, value] : items_of(keywords)) {
    arguments_.add(py::cast<std::string_view>(key));
    add(value);
  }
}

void CallArguments::add(const py::handle& object) {
  PyObject* raw = object.ptr();
  if (const auto* value = held<Value>(object)) {
    // The key refers to the tensor, which Python may drop while the call waits
    // without the GIL.
    tensors_.push_back(*value);
    arguments_.add(tensors_.back());
  } else if (PyBool_Check(raw)) {
    arguments_.add(raw == Py_True);
  } else if (PyFloat_Check(raw)) {
    if (!PyFloat_CheckExact(raw)) add_subclass(object);
    arguments_.add(PyFloat_AsDouble(raw));
  } else if (PyLong_Check(raw)) {
    if (!PyLong_CheckExact(raw)) add_subclass(object);
    int overflow = 0;
    // Beyond 64 bits the digits tell numbers apart.
    const long long value = PyLong_AsLongLongAndOverflow(raw, &overflow);
    if (overflow == 0) {
      arguments_.add(static_cast<std::int64_t>(value));
    } else {
      arguments_.add_context(kDigits);
      const py::str digits(
          py::int_(py::reinterpret_borrow<py::object>(object)));
      arguments_.add(py::cast<std::string_view>(digits));
    }
  } else if (PyUnicode_Check(raw)) {
    if (!PyUnicode_CheckExact(raw)) add_subclass(object);
    arguments_.add(py::cast<std::string_view>(object));
  } else if (PyTuple_CheckExact(raw)) {
    arguments_.add_context(kTuple);
    add_items(object);
  } else if (PyList_CheckExact(raw)) {
    arguments_.add_context(kList);
    add_items(object);
  } else if (PyDict_CheckExact(raw)) {
    add_dict(object);
  } else if (object.is_none()) {
    arguments_.add_context(kNone);
  } else {
    add_other(object);
  }
}

// NumPy's float64 and the members of an Enum equal numbers and texts, but a
// function may compute otherwise with them.
void CallArguments::add_subclass(const py::handle& object) {
  arguments_.add_context(kSubclass);
  arguments_.add_object(token_of(py::type::of(object)));
}

void CallArguments::add_items(const py::handle& items) {
  arguments_.begin(static_cast<std::size_t>(PySequence_Size(items.ptr())));
  for (const auto item : items) add(item);
  arguments_.end();
}

void CallArguments::add_dict(const py::handle& dict) {
  const auto items = items_of(py::reinterpret_borrow<py::dict>(dict));
  arguments_.add_context(kDict);
  arguments_.begin(items.size());
  for (const auto& [key, value] : items) {
    add(key);
    add(value);
  }
  arguments_.end();
}

void CallArguments::add_other(const py::handle& object) {
  if (is_named_tuple(object)) {
    // Two types of the same items are different arguments, as the function may
    // look at names.
    arguments_.add_context(kNamedTuple);
    arguments_.add_object(token_of(py::type::of(object)));
    add_items(object);
  } else if (const auto* variable = held<Variable>(object)) {
    arguments_.add_object(variable->state());
  } else if (is_array(object)) {
    tensors_.push_back(value_from(object));
    arguments_.add(tensors_.back());
  } else if (allow_types_ && py::isinstance<TensorType>(object)) {
    arguments_.add(py::cast<const TensorType&>(object));
  } else if (py::isinstance<SymbolicDim>(object)) {
    arguments_.add_context(kDimWord);
    arguments_.add(std::int64_t{py::cast<const SymbolicDim&>(object).dim});
  } else if (PySlice_Check(object.ptr())) {
    arguments_.add_context(kSlice);
    for (const char* part : {"start", "stop", "step"}) add(object.attr(part));
  } else if (PyMethod_Check(object.ptr())) {  // made anew at each access
    arguments_.add_context(kMethod);
    add(PyMethod_GET_FUNCTION(object.ptr()));
    add(PyMethod_GET_SELF(object.ptr()));
  } else {
    // It would count by identity, and its tensors become constants.
    if (holds_tensors(object)) {
      throw Error(ErrorCode::kInvalidArgument, "jit",
                  "a {} of tensors cannot be an argument",
                  Py_TYPE(object.ptr())->tp_name)
          .hint("pass a dict, a list or a tuple: dict(...), list(...)");
    }
    arguments_.add_object(token_of(object));
  }
}

}  // namespace weft::python
