// Optimizers that are written in Python.

#include "python/src/convert.h"
#include "python/src/recipes.h"

namespace weft::python {
namespace {

// A formula for each parameter by itself, which is called while a step is
// staged.
class CalledOptimizer final : public Optimizer {
 public:
  explicit CalledOptimizer(const py::object& optimizer)
      : update_(share(optimizer.attr("update"))) {
    if (py::hasattr(optimizer, "slots"))
      slots_ = share(optimizer.attr("slots"));
  }

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    if (slots_ == nullptr) return {};
    const py::gil_scoped_acquire gil;
    const py::object told = call_python(
        slots_, py::make_tuple(parameter.name, py::cast(parameter.type)));
    if (!py::isinstance<py::dict>(told)) {
      throw wrong(parameter.name, "slots() gives no dict of first values");
    }
    std::vector<Slot> slots;
    for (const auto& [name, initial] : py::reinterpret_borrow<py::dict>(told)) {
      slots.push_back({.name = py::cast<std::string>(name),
                       .type = parameter.type,
                       .initial = py::cast<double>(initial)});
    }
    return slots;
  }

  void update(std::span<ParameterStep> parameters, std::span<Value>,
              const StepTime& time) const override {
    for (ParameterStep& step : parameters) {
      const std::vector<Slot> slots =
          this->slots({step.name, step.parameter.type()});
      const py::gil_scoped_acquire gil;
      py::dict held;
      for (std::size_t i = 0; i < slots.size(); ++i) {
        held[py::str(slots[i].name)] = py::cast(step.slots[i]);
      }
      take(call_python(
               update_,
               py::make_tuple(py::cast(step.parameter), py::cast(step.gradient),
                              held, py::cast(time.lr), py::cast(time.number))),
           slots, step);
    }
  }

 private:
  static Error wrong(const std::string& parameter, std::string_view what) {
    return Error(ErrorCode::kInvalidArgument, "optimizer",
                 "for parameter '{}', {}", parameter, what);
  }

  // The next values, each of the type of the one before.
  static Value next(const py::handle& told, const Value& before,
                    const std::string& what, const std::string& parameter) {
    Value value = value_from(told);
    if (value.type() == before.type()) return value;
    throw wrong(parameter,
                fmt::format("update() makes {} {}, which is {}", what,
                            to_string(value.type()), to_string(before.type())));
  }

  // What update() gave: the parameter, and its slots if there are any.
  static void take(const py::object& told, const std::vector<Slot>& slots,
                   ParameterStep& step) {
    if (slots.empty()) {
      step.parameter = next(told, step.parameter, "the parameter", step.name);
      return;
    }
    if (!py::isinstance<py::tuple>(told) || py::len(told) != 2 ||
        !py::isinstance<py::dict>(told[py::int_(1)])) {
      throw wrong(step.name, "update() gives no parameter and dict of slots");
    }
    step.parameter =
        next(told[py::int_(0)], step.parameter, "the parameter", step.name);
    const py::dict held = told[py::int_(1)];
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::string& name = slots[i].name;
      if (!held.contains(name)) {
        throw wrong(step.name, fmt::format("update() leaves out '{}'", name));
      }
      step.slots[i] = next(held[py::str(name)], step.slots[i],
                           fmt::format("'{}'", name), step.name);
    }
  }

  SharedObject update_;
  SharedObject slots_;
};

}  // namespace

std::shared_ptr<const Optimizer> called_optimizer(const py::object& optimizer) {
  return std::make_shared<CalledOptimizer>(optimizer);
}

}  // namespace weft::python
