// What `weft predict` does with a trained model: something that a person gives
// goes in, an answer comes out.
//
// Threads: caller synchronises.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/file.h"
#include "weft/data/dataset.h"
#include "weft/data/image.h"
#include "weft/train/step/model_functions.h"

namespace weft {

struct Prediction {
  // What was looked at, or what was made; to be drawn above the lines.
  std::optional<Image> picture;
  std::vector<std::string> lines;
  nlohmann::ordered_json json;
};

// What a person gives: a sentence or a row, which is the text itself; or a
// file, which the text names, and whose bytes outlive the call.
struct PredictorInput {
  std::string text;
  std::optional<ByteSpan> file = std::nullopt;
};

// What a model of texts is given: the text itself, or what the file holds,
// without the line feeds at its end. Throws Error(kDataLoss) naming a file that
// is no UTF-8, and Error(kExhausted) for one of more than 64 MiB.
std::string sentence_of(const PredictorInput& input);

class Predictor {
 public:
  virtual ~Predictor() = default;
  // Throws Error(kInvalidArgument) for what is no input of this model's, and
  // Error(kDataLoss) for a file that is damaged.
  virtual Prediction predict(const PredictorInput& input) = 0;
};

// Predicts for what was typed: where a file is called so, its content is given.
// Throws as MappedFile and predict() do.
Prediction predict_typed(Predictor& predictor, const std::string& typed);

// What a predictor is made from; both outlive it.
struct PredictorContext {
  const DataDescription& data;  // that the model was trained on
  ModelFunctions functions;
};

}  // namespace weft
