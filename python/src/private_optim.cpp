// weft.optim.Private: differentially private training by a loop of one's own.

#include "python/src/convert.h"
#include "python/src/recipes.h"

#include "weft/train/private_optimizer.h"

namespace weft::python {
namespace {

SecretKey key_from(const std::string& bytes) {
  SecretKey key;
  if (bytes.size() != key.bytes.size()) {
    throw Error(ErrorCode::kInvalidArgument, "private optimizer",
                "a key of {} bytes, where it has {}", bytes.size(),
                key.bytes.size());
  }
  std::ranges::copy(bytes, key.bytes.begin());
  return key;
}

class Private {
 public:
  Private(const py::object& optimizer, py::object loss,
          const PrivateLoop& options)
      : optimizer_(optimizer),
        loss_(share(std::move(loss))),
        training_(
            updater_from(optimizer),
            [loss = loss_](std::span<const Value> example) {
              const py::gil_scoped_acquire gil;
              py::tuple arguments(example.size());
              for (std::size_t i = 0; i < example.size(); ++i) {
                arguments[i] = py::cast(example[i]);
              }
              return value_from(call_python(loss, arguments));
            },
            options) {}

  std::vector<std::int64_t> sample() const { return training_.sample(); }

  double update(const py::args& batch) {
    const std::vector<Tensor> tensors = tensors_from(batch);
    const py::gil_scoped_release nogil;
    return training_.update(tensors);
  }

  const py::object& optimizer() const { return optimizer_; }
  const PrivateOptimizer& training() const { return training_; }

 private:
  py::object optimizer_;  // whose updater is used
  SharedObject loss_;
  PrivateOptimizer training_;
};

std::unique_ptr<Private> make_private(
    const py::object& optimizer, const py::object& loss, std::int64_t examples,
    std::int64_t batch, double clip_norm, std::optional<double> noise,
    std::optional<double> epsilon, double delta,
    std::optional<std::int64_t> steps, std::optional<std::int64_t> rows,
    std::int64_t seed, const std::string& accountant,
    const std::optional<py::bytes>& key) {
  PrivateLoop options{.examples = examples,
                      .batch = batch,
                      .clip_norm = clip_norm,
                      .noise = noise.value_or(0),
                      .epsilon = epsilon.value_or(0),
                      .delta = delta,
                      .steps = steps.value_or(0),
                      .rows = rows.value_or(0),
                      .seed = seed,
                      .accounting = privacy::accounting_of(accountant)};
  if (key) options.key = key_from(*key);
  return std::make_unique<Private>(optimizer, loss, options);
}

}  // namespace

void bind_private_optimizer(py::module_& optim) {
  py::class_<Private>(
      optim, "Private",
      "Differentially private training around an optimizer (DP-SGD).\n\n"
      "loss(*example) is of a batch of one. In each step\n\n"
      "    rows = private.sample()\n"
      "    private.update(images[rows], labels[rows])\n\n"
      "private.epsilon(delta) is what the steps so far give away. Either\n"
      "noise is given, in clip norms, or epsilon, delta and how many steps\n"
      "there will be. docs/private-training.md says what is promised.")
      .def(py::init(&make_private), py::arg("optimizer"), py::arg("loss"),
           py::kw_only(), py::arg("examples"), py::arg("batch"),
           py::arg("clip_norm") = 1.0, py::arg("noise") = py::none(),
           py::arg("epsilon") = py::none(), py::arg("delta") = 1e-5,
           py::arg("steps") = py::none(), py::arg("rows") = py::none(),
           py::arg("seed") = 1, py::arg("accountant") = "rdp",
           py::arg("key") = py::none())
      .def("sample", &Private::sample,
           "The examples of the next batch, which join it by chance.")
      .def("update", &Private::update,
           "One step, by those rows of each array. Their mean loss, which is "
           "no private number.")
      .def(
          "epsilon",
          [](const Private& self, double delta) {
            return self.training().epsilon(delta);
          },
          py::arg("delta"), "What the steps so far give away.")
      .def_property_readonly("optimizer", &Private::optimizer)
      .def_property_readonly(
          "noise", [](const Private& self) { return self.training().noise(); },
          "Its standard deviation, in clip norms.")
      .def_property_readonly(
          "rate", [](const Private& self) { return self.training().rate(); },
          "The chance by which an example joins a batch.")
      .def_property_readonly(
          "steps_per_epoch",
          [](const Private& self) { return self.training().steps_per_epoch(); },
          "In which each example joins once on average.")
      .def_property_readonly(
          "step",
          [](const Private& self) -> const Variable& {
            return self.training().step();
          },
          py::return_value_policy::reference_internal,
          "How many steps were taken.")
      .def("_checkpoint", [](const py::object& self) {
        py::dict named;
        named["optimizer"] = self.attr("optimizer");
        named["step"] = self.attr("step");
        return named;
      });
}

}  // namespace weft::python
