// A C++ scope as a context manager of Python.
#pragma once

#include <optional>
#include <tuple>
#include <utility>

#include "python/src/bind.h"

namespace weft::python {

template <class Scope, class... Args>
class ScopeManager {
 public:
  explicit ScopeManager(Args... args) : args_(std::move(args)...) {}

  void enter() {
    std::apply([&](auto&... args) { scope_.emplace(args...); }, args_);
  }
  void exit() { scope_.reset(); }

 private:
  std::tuple<Args...> args_;
  std::optional<Scope> scope_;
};

// It has no constructor yet.
template <class Manager>
py::class_<Manager> bind_manager(py::module_& module, const char* name,
                                 const char* doc) {
  py::class_<Manager> bound(module, name, doc);
  bound.def("__enter__", &Manager::enter)
      .def("__exit__", [](Manager& self, const py::args&) { self.exit(); });
  return bound;
}

}  // namespace weft::python
