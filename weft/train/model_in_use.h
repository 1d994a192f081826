// A trained model, ready to predict and to be measured: a checkpoint, whose
// model is built by its recipe to fit the data, or a file that stands alone, as
// `weft export` writes it, which needs neither.
//
//   const auto model = open_model("digits.weft");
//   const auto predictor = model->predictor();
//   predict_typed(*predictor, "seven.png").json["class"];
//
// A file that stands alone is one of exported functions (files/exported.h) with
// three further texts in its metadata:
//   weft.model   what a checkpoint says of itself (to_json(CheckpointInfo)):
//                the recipe, and the metrics that training measured
//   weft.data    what is known of its data (data/description_text.h): classes,
//                sizes of inputs, how pixels and rows become numbers
//   weft.origin  {"weft": version, "checkpoint": the file's name}
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "weft/files/exported.h"
#include "weft/runtime/tagged/executor.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/model_functions.h"
#include "weft/train/step/predictor.h"
#include "weft/train/step/training_data.h"
#include "weft/train/step/training_task.h"

namespace weft {

struct OpenModelOptions {
  // It stands in for the recipe's folder of data, unless it is empty.
  std::filesystem::path data_folder = {};
  // That recurrent layers of a checkpoint multiply by (ops/recurrent.h); a file
  // that stands alone has settled it.
  DType recurrent_weights = DType::kF32;
  TaggedOptions tagged = {};  // of a model that branches, loops or calls
};

class ModelInUse {
 public:
  virtual ~ModelInUse() = default;

  const std::filesystem::path& path() const { return path_; }
  const CheckpointInfo& info() const { return info_; }
  const Recipe& recipe() const { return recipe_; }

  virtual const TrainingTask& task() const = 0;
  // What is known of the data that it was trained on.
  virtual const DataDescription& description() const = 0;
  virtual ModelFunctions functions() = 0;
  // The data themselves. Throws what opening them throws, and as check_marks().
  virtual const TrainingData& data() = 0;

  // Measures one pass over `source` with each call, which this must outlive; it
  // is staged now. Throws
  // Error(kUnsupported) where a file does not hold what measures.
  virtual std::function<MeasureSums()> evaluation(
      std::unique_ptr<BatchSource> source) = 0;

  // Throws Error(kUnsupported) where there is nothing that a person could give.
  std::unique_ptr<Predictor> predictor();
  PredictorContext context() { return {description(), functions()}; }

 protected:
  std::filesystem::path path_;
  CheckpointInfo info_;
  Recipe recipe_;
};

// Opens a file of either kind, or the best checkpoint of a run's folder. Throws
// Error(kUnavailable) if there is none, Error(kDataLoss) if it is damaged or
// does not fit its own recipe, Error(kInvalidArgument) for narrow weights where
// no layer has any, and Error(kUnsupported) for an exported function that says
// nothing of a task and data.
std::unique_ptr<ModelInUse> open_model(const std::filesystem::path& path,
                                       const OpenModelOptions& options = {});

// The same of a file that stands alone, and is open already.
std::unique_ptr<ModelInUse> open_model(ExportedFile file,
                                       const OpenModelOptions& options = {});

// Whether a file stands alone: it says beside its functions of which data.
bool describes_model(const ExportedFile& file);

// The further texts of a file that stands alone.
TextMetadata model_metadata(const CheckpointInfo& info,
                            const DataDescription& data,
                            const std::filesystem::path& checkpoint);

}  // namespace weft
