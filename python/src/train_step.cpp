// weft.train.Step: the step of a recipe.
#include <pybind11/stl.h>

#include "python/src/convert.h"
#include "python/src/recipes.h"

#include "weft/train/recipe_step.h"

namespace weft::python {
namespace {

std::vector<Tensor> tensors_from(const py::handle& tensors) {
  std::vector<Tensor> all;
  for (const auto each : tensors) {
    // No line of C++ is given, as an error should name the user's.
    all.push_back(value_from(each).tensor({}));
  }
  return all;
}

py::tuple from_tensors(const std::vector<Tensor>& tensors) {
  py::tuple all(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    all[i] = py::cast(Value(tensors[i]));
  }
  return all;
}

std::optional<DataPart> part_from(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  for (const DataPart part :
       {DataPart::kTrain, DataPart::kValid, DataPart::kTest}) {
    if (to_string(part) == *name) return part;
  }
  throw Error(ErrorCode::kInvalidArgument, "part", "data have no part '{}'",
              *name)
      .hint("train, valid or test");
}

}  // namespace

void bind_step(py::module_& train) {
  py::class_<RecipeStep>(train, "_Step")
      .def(py::init([](const py::object& source, const Overrides& overrides,
                       const py::object& model, const py::object& data,
                       const py::object& optimizer) {
        Recipe recipe = recipe_from(source, overrides);
        const GivenObjects given = given_from(recipe, model, data, optimizer);
        const py::gil_scoped_release nogil;
        return std::make_unique<RecipeStep>(std::move(recipe), given);
      }))
      .def("next",
           [](RecipeStep& self) {
             std::vector<Tensor> batch;
             {
               const py::gil_scoped_release nogil;
               // The source will use its memory again; Python keeps what it
               // was given.
               for (const Tensor& each : self.next().tensors) {
                 batch.push_back(each.clone());
               }
             }
             return from_tensors(batch);
           })
      .def_property_readonly("batches_per_epoch",
                             &RecipeStep::batches_per_epoch)
      .def_property_readonly("batches_left", &RecipeStep::batches_left)
      .def_property_readonly("steps_done", &RecipeStep::steps_done)
      .def("train",
           [](RecipeStep& self, const py::object& batch,
              std::optional<double> lr) {
             const std::vector<Tensor> tensors = tensors_from(batch);
             Scores scores;
             {
               const py::gil_scoped_release nogil;
               scores = self.train(tensors, lr);
             }
             return from_scores(scores);
           })
      .def("evaluate",
           [](RecipeStep& self, const std::optional<std::string>& part) {
             const std::optional<DataPart> chosen = part_from(part);
             Scores scores;
             {
               const py::gil_scoped_release nogil;
               scores = self.evaluate(chosen);
             }
             return from_scores(scores);
           })
      .def("predict",
           [](RecipeStep& self, const py::args& known) {
             const std::vector<Tensor> tensors = tensors_from(known);
             std::vector<Tensor> told;
             {
               const py::gil_scoped_release nogil;
               told = self.predict(tensors);
             }
             return from_tensors(told);
           })
      .def("save",
           [](const RecipeStep& self, const std::string& path) {
             const py::gil_scoped_release nogil;
             self.save(path);
           })
      .def("export",
           [](const RecipeStep& self, const std::string& path) {
             const py::gil_scoped_release nogil;
             self.export_model(path);
           })
      .def("load", [](RecipeStep& self, const std::string& path) {
        const py::gil_scoped_release nogil;
        self.load(path);
      });
}

}  // namespace weft::python
