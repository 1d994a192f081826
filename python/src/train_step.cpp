// weft.train.Step: the step of a recipe.

#include "python/src/convert.h"
#include "python/src/recipes.h"

#include "weft/train/recipe_step.h"

namespace weft::python {
namespace {

py::tuple from_tensors(const std::vector<Tensor>& tensors) {
  py::tuple all(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    all[i] = py::cast(Value(tensors[i]));
  }
  return all;
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
             std::optional<DataPart> chosen;
             if (part) chosen = data_part(*part);
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
