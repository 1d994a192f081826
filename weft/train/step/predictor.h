// What `weft predict` does with a trained model: something that a person names
// goes in, an answer comes out.
//
// Threads: caller synchronises.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/data/dataset.h"
#include "weft/data/image.h"
#include "weft/nn/module.h"
#include "weft/train/step/step_options.h"

namespace weft {

class TrainingTask;

struct Prediction {
  // What was looked at, or what was made; to be drawn above the lines.
  std::optional<Image> picture;
  std::vector<std::string> lines;
  nlohmann::ordered_json json;
};

class Predictor {
 public:
  virtual ~Predictor() = default;
  // `input` is as the user wrote it: a file, a sentence, a row. Throws
  // Error(kInvalidArgument) for what is none, and what reading a file throws.
  virtual Prediction predict(const std::string& input) = 0;
};

// What a predictor is made from; all of it outlives the predictor.
struct PredictorContext {
  nn::Module& model;  // trained
  const TrainingTask& task;
  const DataDescription& data;  // that it was trained on
  StepOptions options;
};

}  // namespace weft
