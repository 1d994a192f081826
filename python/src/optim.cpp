// weft.optim: the optimizers of the registry, over variables.

#include "python/src/convert.h"
#include "python/src/options.h"
#include "python/src/recipes.h"
#include "python/src/tree.h"

#include "weft/optim/clip.h"
#include "weft/optim/schedule.h"
#include "weft/optim/variable_updater.h"
#include "weft/optim/wrapper.h"

namespace weft::python {
namespace {

// Variables in the order of the gradients: a dict by name, or any iterable.
std::vector<py::handle> in_order(const py::handle& collection) {
  std::vector<py::handle> items;
  // A dict would iterate over its keys.
  if (py::isinstance<py::dict>(collection)) {
    for (const auto& [key, value] :
         py::reinterpret_borrow<py::dict>(collection)) {
      items.push_back(value);
    }
  } else {
    for (const auto item : collection) items.push_back(item);
  }
  return items;
}

std::vector<Value> values_in_order(const py::handle& collection) {
  std::vector<Value> values;
  for (const py::handle item : in_order(collection)) {
    values.push_back(value_from(item));
  }
  return values;
}

class Updater {
 public:
  Updater(const std::string& name, const py::object& variables,
          const py::object& lr, const std::vector<std::string>& wrap,
          const py::kwargs& options)
      : names_(names_of(variables)),
        updater_(
            wrap_optimizer(make_optimizer(name, options_from(options)), wrap),
            states(variables),
            lr.is_none() ? optimizer_registry().get(name).default_lr
                         : py::cast<double>(lr),
            names_) {}

  void update(const py::object& gradients) {
    const std::vector<Value> ordered = py::isinstance<py::dict>(gradients)
                                           ? values_by_name(gradients)
                                           : values_in_order(gradients);
    // From here on nothing of Python is touched.
    const py::gil_scoped_release nogil;
    updater_.update(ordered);
  }

  const VariableUpdater& updater() const { return updater_; }
  VariableUpdater& updater() { return updater_; }

  // The variables as they were given: a dict by name where they had names.
  py::object used() const {
    py::list in_order;
    py::dict by_name;
    std::size_t next = 0;
    for (Variable& variable : updater_.used()) {
      py::object held = py::cast(std::move(variable));
      if (names_.empty()) {
        in_order.append(std::move(held));
      } else {
        by_name[py::str(names_[next++])] = std::move(held);
      }
    }
    if (names_.empty()) return in_order;
    return by_name;
  }

 private:
  // Two dicts may have been filled in different orders; names are what they
  // agree on.
  std::vector<Value> values_by_name(const py::object& gradients) const {
    if (names_.empty() && !updater_.variables().empty()) {
      throw Error(ErrorCode::kInvalidArgument, "optimizer",
                  "the gradients have names, and the variables have none")
          .hint(
              "make the optimizer with the variables in a dict, as "
              "model.parameters(), or give the gradients in a list");
    }
    std::vector<Value> ordered;
    for (const std::string& name : names_) {
      ordered.push_back(value_from(gradients[py::str(name)]));
    }
    return ordered;
  }

  // They are the keys of a dict; variables in a list have none.
  static std::vector<std::string> names_of(const py::object& variables) {
    std::vector<std::string> names;
    if (!py::isinstance<py::dict>(variables)) return names;
    for (const auto& [key, value] :
         py::reinterpret_borrow<py::dict>(variables)) {
      names.push_back(py::cast<std::string>(key));
    }
    return names;
  }

  static std::vector<VariableRef> states(const py::object& variables) {
    std::vector<VariableRef> states;
    for (const py::handle item : in_order(variables)) {
      states.push_back(py::cast<const Variable&>(item).state());
    }
    return states;
  }

  std::vector<std::string> names_;  // of the variables, if they had any
  VariableUpdater updater_;
};

py::dict slots_of(const py::object& self) {
  py::dict slots;
  for (const auto& slot : py::cast<const Updater&>(self).updater().slots()) {
    // The variable lies inside the optimizer, which must live as long as
    // anybody holds it.
    slots[py::str(slot.name)] = py::cast(
        slot.variable, py::return_value_policy::reference_internal, self);
  }
  return slots;
}

// In the containers of the gradients: what belongs to a name keeps it. Another
// iterable becomes a list.
py::object clipped_gradients(const py::object& gradients, double max_norm) {
  const bool is_tree = py::isinstance<py::dict>(gradients) ||
                       py::isinstance<py::list>(gradients) ||
                       py::isinstance<py::tuple>(gradients);
  std::vector<Value> values;
  const py::object slots =
      take_tensors(is_tree ? gradients : py::object(py::list(gradients)),
                   values, /*all=*/true);
  std::vector<Value> scaled;
  {
    const py::gil_scoped_release nogil;
    scaled = clip_by_global_norm(values, max_norm);
  }
  return fill_slots(slots, scaled);
}

// A schedule over a run whose length is known.
struct RateSchedule {
  Schedule schedule;
  std::int64_t steps;
  std::int64_t steps_per_epoch;
};

// Without epochs, the whole run is one.
RateSchedule make_schedule(const std::string& text, std::int64_t steps,
                           std::optional<std::int64_t> steps_per_epoch) {
  const std::int64_t epoch = steps_per_epoch.value_or(steps);
  if (steps < 1 || epoch < 1) {
    throw Error(ErrorCode::kInvalidArgument, "schedule",
                "{} steps in epochs of {}: there must be one at least", steps,
                epoch);
  }
  return {parse_schedule(text, 0.01), steps, epoch};
}

}  // namespace

std::shared_ptr<const Optimizer> optimizer_from(const py::object& optimizer) {
  if (optimizer.is_none()) return nullptr;
  if (py::isinstance<Updater>(optimizer)) {
    return py::cast<const Updater&>(optimizer).updater().optimizer();
  }
  if (py::hasattr(optimizer, "update")) return called_optimizer(optimizer);
  throw Error(ErrorCode::kInvalidArgument, "optimizer",
              "this is no weft.optim.Optimizer, and has no update()");
}

VariableUpdater& updater_from(const py::object& optimizer) {
  if (py::isinstance<Updater>(optimizer)) {
    return py::cast<Updater&>(optimizer).updater();
  }
  throw Error(ErrorCode::kInvalidArgument, "optimizer",
              "this is no weft.optim.Optimizer");
}

void bind_optim(py::module_& module) {
  py::module_ optim = module.def_submodule("optim");
  const auto inside = py::return_value_policy::reference_internal;
  py::class_<Updater, std::shared_ptr<Updater>>(
      optim, "Optimizer",
      "Changes variables by gradients. What it remembers are variables too.")
      .def(py::init<std::string, py::object, py::object,
                    std::vector<std::string>, py::kwargs>(),
           py::arg("name"), py::arg("variables"), py::arg("lr") = py::none(),
           py::kw_only(), py::arg("wrap") = std::vector<std::string>{})
      .def("update", &Updater::update, py::arg("gradients"),
           "One step, with a gradient for each variable.")
      .def_property_readonly(
          "learning_rate",
          [](const Updater& self) -> const Variable& {
            return self.updater().learning_rate();
          },
          inside)
      .def_property_readonly(
          "step",
          [](const Updater& self) -> const Variable& {
            return self.updater().step();
          },
          inside)
      .def("slots", &slots_of, "What it remembers of each variable, by name.")
      .def("used", &Updater::used,
           "What to use in place of each variable, as the variables were "
           "given:\n"
           "its average where wrap=[\"ema\"] keeps one, or itself.")
      // save() and restore() ask for these names, as what C++ holds stands in
      // no __dict__.
      .def("_checkpoint", [](const py::object& self) {
        py::dict named;
        named["learning_rate"] = self.attr("learning_rate");
        named["step"] = self.attr("step");
        named["slots"] = slots_of(self);
        return named;
      });
  bind_private_optimizer(optim);
  py::class_<RateSchedule>(optim, "schedule",
                           "The rate of each step: `rate = schedule("
                           "\"cosine(from=0.1, to=0.001, warmup=100)\", "
                           "steps=1000)`, then "
                           "optimizer.learning_rate.assign(rate(step)).")
      .def(py::init(&make_schedule), py::arg("text"), py::arg("steps"),
           py::kw_only(), py::arg("steps_per_epoch") = py::none())
      .def(
          "__call__",
          [](const RateSchedule& self, std::int64_t step) {
            if (step < 0) {
              throw Error(ErrorCode::kInvalidArgument, "schedule",
                          "there is no step {}: they count from 0", step);
            }
            return self.schedule.at(step, self.steps, self.steps_per_epoch);
          },
          py::arg("step"), "The rate of a step, which count from 0.")
      .def("__repr__", [](const RateSchedule& self) {
        return fmt::format("<weft.optim.schedule {}, {} steps>",
                           to_string(self.schedule), self.steps);
      });
  optim.def("schedules", [] {
    std::map<std::string, std::string> summaries;
    for (const ScheduleDef& def : schedule_registry().all()) {
      summaries[def.name] = def.summary;
    }
    return summaries;
  });
  optim.def("registry", [] {
    py::list entries;
    for (const OptimizerDef& def : optimizer_registry().all()) {
      py::dict options;
      for (const OptionSpec& option : def.options) {
        options[py::str(option.name)] =
            py::make_tuple(to_string(option.value), option.summary);
      }
      entries.append(
          py::make_tuple(def.name, def.summary, def.default_lr, options));
    }
    return entries;
  });
  optim.def(
      "clip_by_global_norm", &clipped_gradients, py::arg("gradients"),
      py::arg("max_norm"),
      "All gradients, scaled so that their common norm is at most max_norm, in "
      "the containers that they came in.");
}

}  // namespace weft::python
