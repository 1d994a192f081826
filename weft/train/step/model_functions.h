// What a trained model computes, by name, wherever it lies: in memory
// (step_functions.h) or in a file (train/model_in_use.h).
//
//   const ModelFunction predict = functions(kPredictFunction);
//   const Tensor scores = predict(std::vector{images})[0];
//
// Threads: caller synchronises.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft {

// Known inputs to predictions, of any number of examples where the model
// carries nothing.
inline constexpr const char* kPredictFunction = "predict";

// Throws what running throws.
using ModelFunction =
    std::function<std::vector<Tensor>(std::span<const Tensor> arguments)>;
// Throws Error(kUnsupported) for a function that the model has not.
using ModelFunctions = std::function<ModelFunction(std::string_view name)>;

}  // namespace weft
