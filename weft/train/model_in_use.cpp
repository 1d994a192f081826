#include "weft/train/model_in_use.h"

#include <nlohmann/json.hpp>

#include "weft/base/version.h"
#include "weft/data/description_text.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/step/export.h"
#include "weft/train/step/step_functions.h"
#include "weft/train/trained_model.h"

namespace weft {
namespace {

constexpr const char* kModelKey = "weft.model";
constexpr const char* kDataKey = "weft.data";
constexpr const char* kOriginKey = "weft.origin";

class CheckpointInUse final : public ModelInUse {
 public:
  CheckpointInUse(TrainedModel trained, DType recurrent_weights)
      : trained_(std::move(trained)),
        options_(serving_options(trained_, recurrent_weights)) {
    path_ = trained_.path;
    info_ = trained_.info;
    recipe_ = trained_.recipe;
  }

  const TrainingTask& task() const override { return *trained_.assembly.task; }
  const DataDescription& description() const override {
    return trained_.assembly.data->description();
  }
  const TrainingData& data() override { return *trained_.assembly.data; }

  ModelFunctions functions() override {
    return functions_of(step(example_inputs(description())));
  }
  std::function<MeasureSums()> evaluation(
      std::unique_ptr<BatchSource> source) override {
    const StepDescription described = step(source->inputs());
    return [evaluation = std::make_shared<Evaluation>(
                described, std::move(source))] { return evaluation->run(); };
  }

 private:
  StepDescription step(std::vector<BatchInput> inputs) {
    return {trained_.model(), task(), std::move(inputs), options_};
  }

  TrainedModel trained_;
  StepOptions options_;
};

// Runs what the file holds on the batches of a source, as Evaluation does with
// a model in memory.
class ExportedEvaluation {
 public:
  ExportedEvaluation(const ExportedFile& file, const OpenModelOptions& options,
                     std::uint64_t seed, std::unique_ptr<BatchSource> source,
                     ModelFunction predict)
      : file_(file),
        options_(options),
        seed_(seed),
        source_(std::move(source)) {
    source_->answer_with(std::move(predict));
  }

  MeasureSums run() {
    // What a model carries begins anew with a function that is opened anew.
    ExportedFunction evaluate(file_, kEvaluateFunction,
                              {.tagged = options_.tagged});
    MeasureSums sums;
    source_->seek({});
    for (std::int64_t i = 0; i < source_->batches_per_epoch(); ++i) {
      const Batch& batch = source_->next();
      std::vector<Tensor> arguments{
          Tensor::of<std::int64_t>({2}, {static_cast<std::int64_t>(seed_), i})};
      arguments.insert(arguments.end(), batch.tensors.begin(),
                       batch.tensors.end());
      sums.add(measure_sums(evaluate.run(arguments)));
    }
    return sums;
  }

 private:
  const ExportedFile& file_;
  const OpenModelOptions& options_;
  std::uint64_t seed_;
  std::unique_ptr<BatchSource> source_;
};

class FileInUse final : public ModelInUse {
 public:
  FileInUse(ExportedFile file, const OpenModelOptions& options)
      : file_(std::move(file)), options_(options) {
    path_ = file_.path();
    const std::string where = path_.string();
    if (!describes_model(file_)) {
      throw Error(ErrorCode::kUnsupported, where,
                  "is a function without a task and a description of its data")
          .hint(
              "weft run runs it; weft export writes such a file of a "
              "checkpoint");
    }
    info_ = parse_checkpoint_info(file_.text(kModelKey), where);
    description_ = parse_description(file_.text(kDataKey), where);
    recipe_ = parse_recipe(info_.recipe, where + " (its recipe)");
    if (!options.data_folder.empty()) {
      recipe_.data.folder = options.data_folder.string();
    }
    task_ = make_task(recipe_.task.name, recipe_.task.options);
    check_data(recipe_.task.name, *task_, *description_);
    task_->fit(*description_);
  }

  const TrainingTask& task() const override { return *task_; }
  const DataDescription& description() const override { return *description_; }
  const TrainingData& data() override {
    if (data_ == nullptr) {
      data_ = open_data(recipe_);
      check_marks(marks_of(*description_), data_->description(),
                  path_.string());
    }
    return *data_;
  }

  ModelFunctions functions() override {
    return [this](std::string_view name) -> ModelFunction {
      if (name == kPredictFunction) name = kMainFunction;
      check_has(name);
      const auto function =
          std::make_shared<ExportedFunction>(file_, name, executable());
      return [function](std::span<const Tensor> arguments) {
        return function->run({arguments.begin(), arguments.end()});
      };
    };
  }
  std::function<MeasureSums()> evaluation(
      std::unique_ptr<BatchSource> source) override {
    check_has(kEvaluateFunction);
    return [evaluation = std::make_shared<ExportedEvaluation>(
                file_, options_, info_.seed, std::move(source),
                functions()(kPredictFunction))] { return evaluation->run(); };
  }

 private:
  ExecutableOptions executable() const { return {.tagged = options_.tagged}; }
  void check_has(std::string_view function) const {
    if (file_.has(function)) return;
    throw Error(ErrorCode::kUnsupported, path_.string(),
                "the file has no function '{}'", function)
        .hint(
            "weft export writes all, and weft optimize keeps what the file "
            "has that it is given");
  }

  ExportedFile file_;
  OpenModelOptions options_;
  std::unique_ptr<const DataDescription> description_;
  std::unique_ptr<TrainingTask> task_;
  std::shared_ptr<const TrainingData> data_;
};

}  // namespace

std::unique_ptr<Predictor> ModelInUse::predictor() {
  return task().predictor(context());
}

std::unique_ptr<ModelInUse> open_model(const std::filesystem::path& path,
                                       const OpenModelOptions& options) {
  if (!is_exported_function(path)) {
    return std::make_unique<CheckpointInUse>(
        load_trained(path, options.data_folder), options.recurrent_weights);
  }
  return open_model(ExportedFile(path), options);
}

std::unique_ptr<ModelInUse> open_model(ExportedFile file,
                                       const OpenModelOptions& options) {
  if (options.recurrent_weights != DType::kF32) {
    throw Error(ErrorCode::kInvalidArgument, file.path().string(),
                "what recurrent layers multiply by was settled when it was "
                "exported")
        .hint("weft export has the option, too");
  }
  return std::make_unique<FileInUse>(std::move(file), options);
}

bool describes_model(const ExportedFile& file) {
  return file.metadata().contains(kModelKey);
}

TextMetadata model_metadata(const CheckpointInfo& info,
                            const DataDescription& data,
                            const std::filesystem::path& checkpoint) {
  const nlohmann::ordered_json origin{
      {"weft", kVersion}, {"checkpoint", checkpoint.filename().string()}};
  return {{kModelKey, to_json(info)},
          {kDataKey, to_json(data)},
          {kOriginKey,
           origin.dump(-1, ' ', false,
                       nlohmann::ordered_json::error_handler_t::replace)}};
}

}  // namespace weft
