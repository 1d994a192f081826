// weft.train: the trainer of recipes with callbacks.
#include <algorithm>
#include <atomic>

#include "python/src/convert.h"
#include "python/src/recipes.h"

#include "weft/train/simulated_run.h"
#include "weft/train/train_loop.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::python {
namespace {

std::string recipe_name(const py::object& given) {
  if (given.is_none()) return kGivenObject;
  const auto source = py::cast<std::string>(given);
  return source.find('\n') == std::string::npos
             ? std::filesystem::path(source).stem().string()
             : "recipe";
}

// What callbacks see of a run. It may be kept, and says so when the run is
// gone.
class Loop {
 public:
  explicit Loop(TrainLoop& loop) : loop_(&loop) {}

  TrainLoop& get() const {
    if (loop_ != nullptr) return *loop_;
    throw Error(ErrorCode::kInvalidArgument, "loop", "its Trainer is gone");
  }
  void forget() { loop_ = nullptr; }

 private:
  TrainLoop* loop_;
};

py::dict epoch_of(const Loop& loop) {
  EpochMetrics& epoch = loop.get().epoch();
  py::dict named;
  named["epoch"] = epoch.epoch;
  named["step"] = epoch.step;
  named["lr"] = epoch.lr;
  named["train"] = from_scores(epoch.train);
  named["held_out"] = from_scores(epoch.held_out);
  named["is_best"] = epoch.is_best;
  named["seconds"] = epoch.seconds;
  named["samples_per_s"] = epoch.samples_per_s;
  return named;
}

constexpr const char* kHooks[] = {"on_start",   "on_batch", "on_step",
                                  "on_measure", "on_epoch", "on_interrupt",
                                  "on_failure"};

// The methods of an object that are called as hooks. Throws
// Error(kInvalidArgument) for one that is called nearly so.
std::map<std::string, SharedObject> methods_of(const py::object& callback) {
  std::map<std::string, SharedObject> methods;
  const std::vector<std::string> known(std::begin(kHooks), std::end(kHooks));
  for (const py::handle entry :
       py::module_::import("builtins").attr("dir")(callback)) {
    const auto name = py::cast<std::string>(entry);
    if (!name.starts_with("on_")) continue;
    if (std::ranges::find(known, name) == known.end()) {
      const std::string near = nearest(name, known);
      throw Error(
          ErrorCode::kInvalidArgument, "callback",
          "nothing calls a method '{}'{}", name,
          near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
    }
    methods[name] = share(callback.attr(name.c_str()));
  }
  if (methods.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "callback",
                "it has no method that would be called")
        .hint(
            "on_start, on_batch, on_step, on_measure, on_epoch, on_interrupt, "
            "on_failure");
  }
  return methods;
}

// Ctrl-C. The run then ends with a checkpoint, and what the handler of the
// signal has raised is raised again.
class Interrupt {
 public:
  // Takes what Python has raised. With the GIL.
  void take() {
    raised_ = std::make_unique<py::error_already_set>();
    stop_ = true;
  }
  bool is_taken() const { return raised_ != nullptr; }
  [[noreturn]] void raise_again() const {
    throw py::error_already_set(*raised_);
  }
  const std::atomic<bool>& stop() const { return stop_; }

 private:
  std::atomic<bool> stop_ = false;
  std::unique_ptr<py::error_already_set> raised_;
};

// Calls the methods of a Python object. What they raise ends the run.
class PythonHook final : public TrainHook {
 public:
  PythonHook(const py::object& callback, Interrupt& interrupt)
      : methods_(methods_of(callback)), interrupt_(interrupt) {}
  ~PythonHook() override {
    if (loop_ != nullptr) loop_->forget();
  }

  void on_start(TrainLoop& loop) override { call("on_start", loop); }
  void on_batch(TrainLoop& loop) override { call("on_batch", loop); }
  void on_step(TrainLoop& loop) override { call("on_step", loop); }
  void on_measure(TrainLoop& loop) override { call("on_measure", loop); }
  void on_epoch(TrainLoop& loop) override { call("on_epoch", loop); }
  void on_interrupt(TrainLoop& loop, Error& reason) override {
    call("on_interrupt", loop, reason.what());
  }
  void on_failure(TrainLoop& loop, Error& reason) override {
    call("on_failure", loop, reason.what());
  }

 private:
  template <class... Arguments>
  void call(const std::string& name, TrainLoop& loop, Arguments... arguments) {
    const auto method = methods_.find(name);
    if (method == methods_.end()) return;
    if (loop_ == nullptr) loop_ = std::make_shared<Loop>(loop);
    const py::gil_scoped_acquire gil;
    const auto result = py::reinterpret_steal<py::object>(
        PyObject_Call(method->second.get(),
                      py::make_tuple(loop_, arguments...).ptr(), nullptr));
    if (result) return;
    // Ctrl-C may be noticed inside of a callback as well.
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) throw_raised();
    interrupt_.take();
  }

  std::map<std::string, SharedObject> methods_;
  Interrupt& interrupt_;
  std::shared_ptr<Loop> loop_;
};

// Python notices a signal only when somebody asks.
class SignalHook final : public TrainHook {
 public:
  explicit SignalHook(Interrupt& interrupt) : interrupt_(interrupt) {}

  void on_step(TrainLoop&) override { check(); }
  void check() {
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) interrupt_.take();
  }

 private:
  Interrupt& interrupt_;
};

Recipe recipe_with_folder(const py::object& source,
                          const Overrides& overrides) {
  Recipe recipe = recipe_from(source, overrides);
  if (recipe.log.folder.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "log.folder",
                "what is no file of a recipe has no name, and so no folder")
        .hint("settings={\"log.folder\": \"runs/NAME\"}");
  }
  return recipe;
}

// Calls `run`, without the GIL, and raises what Python has raised meanwhile.
template <class Run>
TrainResult uninterrupted(Interrupt& interrupt, const Run& run) {
  TrainResult result;
  try {
    const py::gil_scoped_release nogil;
    result = run();
  } catch (const Error&) {
    if (!interrupt.is_taken()) throw;
  }
  if (interrupt.is_taken()) interrupt.raise_again();
  return result;
}

// The workers of a simulated cluster have no hooks, but one tells how it goes.
class SignalObserver final : public TrainObserver {
 public:
  explicit SignalObserver(Interrupt& interrupt) : hook_(interrupt) {}
  void on_step(const TrainProgress&) override { hook_.check(); }

 private:
  SignalHook hook_;
};

TrainResult simulate(const py::object& source, const Overrides& overrides,
                     bool is_resumed) {
  const Recipe recipe = recipe_with_folder(source, overrides);
  if (recipe.simulate.network.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "simulate.network",
                "the recipe does not say which cluster is simulated")
        .hint("settings={\"simulate.network\": \"64@50us,100Mbit/s\"}");
  }
  Interrupt interrupt;
  SignalObserver observer(interrupt);
  return uninterrupted(interrupt, [&] {
    return train_simulated(recipe,
                           {.name = recipe_name(source),
                            .is_resumed = is_resumed,
                            .stop = &interrupt.stop()},
                           observer);
  });
}

class PythonTrainer {
 public:
  PythonTrainer(const py::object& source, const Overrides& overrides,
                const py::object& model, const py::object& data,
                const py::object& optimizer, bool is_resumed) {
    Recipe recipe = recipe_with_folder(source, overrides);
    TrainerOptions options{.name = recipe_name(source),
                           .is_resumed = is_resumed,
                           .stop = &interrupt_.stop(),
                           .given = given_from(recipe, model, data, optimizer)};
    const py::gil_scoped_release nogil;
    trainer_ = std::make_unique<Trainer>(std::move(recipe), std::move(options));
  }

  TrainResult run(const py::iterable& callbacks) {
    if (has_run_) {
      throw Error(ErrorCode::kInvalidArgument, "Trainer.run",
                  "it has run already")
          .hint("a new Trainer with resume=True goes on");
    }
    std::vector<std::unique_ptr<TrainHook>> hooks;
    for (const py::handle callback : callbacks) {
      hooks.push_back(std::make_unique<PythonHook>(
          py::reinterpret_borrow<py::object>(callback), interrupt_));
    }
    for (auto& hook : hooks) trainer_->add(std::move(hook));
    trainer_->add(std::make_unique<SignalHook>(interrupt_));
    has_run_ = true;
    return uninterrupted(interrupt_, [&] {
      TrainObserver quiet;
      return trainer_->run(quiet);
    });
  }

 private:
  Interrupt interrupt_;
  std::unique_ptr<Trainer> trainer_;
  bool has_run_ = false;
};

void bind_loop(py::module_& train) {
  py::class_<Loop, std::shared_ptr<Loop>>(
      train, "Loop", "What a callback sees of a run, and how it ends one.")
      .def_property_readonly("steps_done",
                             [](const Loop& l) { return l.get().steps_done(); })
      .def_property_readonly(
          "steps_in_all", [](const Loop& l) { return l.get().steps_in_all(); })
      .def_property_readonly(
          "folder", [](const Loop& l) { return l.get().recipe().log.folder; })
      .def_property_readonly(
          "deciding_metric",
          [](const Loop& l) { return l.get().deciding_metric().name; })
      .def_property_readonly(
          "train",
          [](const Loop& l) { return from_scores(l.get().progress().train); },
          "The metrics of the epoch so far.")
      .def_property_readonly("epoch", &epoch_of,
                             "What the last epoch came to, from on_measure "
                             "on: train and held_out are metrics by name.")
      .def(
          "end_here", [](const Loop& l) { l.get().end_here(); },
          "No epoch comes after this one, whatever the recipe says.");
  py::class_<TrainResult>(train, "TrainResult", "What a run came to.")
      .def_readonly("steps", &TrainResult::steps)
      .def_readonly("epochs", &TrainResult::epochs)
      .def_readonly("seconds", &TrainResult::seconds)
      .def_readonly("train_loss", &TrainResult::train_loss)
      .def_readonly("best_epoch", &TrainResult::best_epoch)
      .def_readonly("samples_per_s", &TrainResult::samples_per_s)
      .def_readonly("workers", &TrainResult::workers)
      .def_property_readonly(
          "test", [](const TrainResult& r) { return from_scores(r.test); })
      .def_property_readonly(
          "seconds_here",
          [](const TrainResult& r) {
            return r.simulated ? r.simulated->seconds_here : r.seconds;
          },
          "On the clock of this machine; `seconds` are of a simulated one's.")
      .def_property_readonly("checkpoint", [](const TrainResult& r) {
        return r.checkpoint.string();
      });
}

}  // namespace

void bind_train(py::module_& module) {
  py::module_ train = module.def_submodule("train");
  bind_loop(train);
  bind_step(train);
  py::class_<PythonTrainer>(train, "_Trainer")
      .def(py::init<const py::object&, const Overrides&, const py::object&,
                    const py::object&, const py::object&, bool>())
      .def("run", &PythonTrainer::run);
  train.def("_simulate", &simulate);
  train.def("_export", [](const std::string& checkpoint,
                          const std::string& path, const std::string& data) {
    const py::gil_scoped_release nogil;
    export_trained(checkpoint, path, data);
  });
}

}  // namespace weft::python
