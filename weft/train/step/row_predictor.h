// Predictions for rows of a table.
//
// Threads: caller synchronises.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/train/step/predictor.h"

namespace weft {

// What is said of one row.
struct RowAnswer {
  std::string text;
  nlohmann::ordered_json json;
};

// Takes a row ("age=39,workclass=State-gov"), or a CSV file with a header, and
// has `tell` put into words what the task predicts of each. Columns that are
// not given are missing values, and told to be. Throws Error(kInvalidArgument)
// for columns that the data has not, and what reading a file throws.
std::unique_ptr<Predictor> predict_rows(
    const PredictorContext& context,
    std::function<RowAnswer(std::span<const float> prediction)> tell);

// The most probable of `classes`, and what each has.
RowAnswer tell_class(const std::vector<std::string>& classes,
                     std::span<const float> probabilities);

}  // namespace weft
