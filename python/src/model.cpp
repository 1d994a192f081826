// weft.Model: a trained model, from a file that stands alone or a checkpoint.

#include "python/src/convert.h"
#include "python/src/operators.h"
#include "python/src/recipes.h"

#include "weft/train/model_in_use.h"

namespace weft::python {
namespace {

class PythonModel {
 public:
  PythonModel(const std::string& path, const std::string& data)
      : model_(open_model(path, {.data_folder = data})) {}

  ModelInUse& model() { return *model_; }

  // Bytes are a file's content; text is a row, a sentence, or a file's name.
  py::object predict(const py::object& input) {
    Prediction prediction;
    if (py::isinstance<py::bytes>(input)) {
      const auto content = py::cast<std::string_view>(input);
      const py::gil_scoped_release nogil;
      prediction = predictor().predict(
          {"bytes",
           ByteSpan(reinterpret_cast<const std::uint8_t*>(content.data()),
                    content.size())});
    } else {
      const auto typed = py::cast<std::string>(
          py::module_::import("os").attr("fspath")(input));
      const py::gil_scoped_release nogil;
      prediction = predict_typed(predictor(), typed);
    }
    return py::module_::import("json").attr("loads")(prediction.json.dump(
        -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }

  py::object call(const py::args& known) {
    const std::vector<Tensor> arguments = tensors_from(known);
    std::vector<Tensor> results;
    {
      const py::gil_scoped_release nogil;
      if (!predict_) predict_ = model_->functions()(kPredictFunction);
      results = predict_(arguments);
    }
    return from_results({results.begin(), results.end()});
  }

  py::dict evaluate(const std::string& split) {
    const DataPart part = data_part(split);
    Scores scores;
    {
      const py::gil_scoped_release nogil;
      if (!model_->data().has(part)) {
        throw Error(ErrorCode::kInvalidArgument, "evaluate",
                    "the data '{}' have no part '{}'",
                    model_->recipe().data.name, split);
      }
      const auto measure =
          model_->evaluation(model_->data().measure(part, Shard()));
      scores = Scores(model_->task().metrics(), measure());
    }
    return from_scores(scores);
  }

 private:
  Predictor& predictor() {
    if (predictor_ == nullptr) predictor_ = model_->predictor();
    return *predictor_;
  }

  std::unique_ptr<ModelInUse> model_;
  std::unique_ptr<Predictor> predictor_;
  ModelFunction predict_;
};

std::string shown(PythonModel& self) {
  const ModelInUse& model = self.model();
  return fmt::format("<weft.Model {} of {}, {}>", model.recipe().model.name,
                     model.recipe().data.name, model.path().string());
}

}  // namespace

void bind_model(py::module_& module) {
  py::class_<PythonModel>(module, "Model", "A trained model, ready to predict.")
      .def("predict", &PythonModel::predict, py::arg("input"),
           "What it makes of a file, a row or a sentence; bytes are a file's "
           "content.")
      .def("__call__", &PythonModel::call,
           "The predictions for a batch of tensors.")
      .def("evaluate", &PythonModel::evaluate, py::arg("split") = "test",
           "Its metrics on a part of its data, by name.")
      .def_property_readonly("classes",
                             [](PythonModel& self) {
                               return self.model().description().classes();
                             })
      .def_property_readonly(
          "metrics",
          [](PythonModel& self) { return self.model().info().metrics; },
          "What was measured while it was trained.")
      .def_property_readonly(
          "recipe",
          [](PythonModel& self) { return self.model().info().recipe; },
          "That it was trained by, as TOML.")
      .def("__repr__", &shown);
  module.def(
      "open_model",
      [](const py::object& path, const py::object& data) {
        const py::object fspath = py::module_::import("os").attr("fspath");
        const auto file = py::cast<std::string>(fspath(path));
        const auto folder = py::cast<std::string>(fspath(data));
        const py::gil_scoped_release nogil;
        return std::make_unique<PythonModel>(file, folder);
      },
      py::arg("path"), py::kw_only(), py::arg("data") = "",
      "Opens what `weft export` wrote, a checkpoint, or the folder of a run. "
      "`data` is the folder of its data, where they are not found.");
}

}  // namespace weft::python
