// A checkpoint made ready to use: its recipe, its data, the model with its
// weights, or what stands in for them (optim/optimizer.h).
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>

#include "weft/train/assembly.h"
#include "weft/train/files/checkpoint.h"

namespace weft {

struct TrainedModel {
  std::filesystem::path path;
  Recipe recipe;
  CheckpointInfo info;
  Assembly assembly;

  nn::Module& model() { return *assembly.model; }
};

// The checkpoint that a path means: people name the folder of a run and mean
// its best model. Throws Error(kUnavailable) for a run of which no epoch was
// measured yet.
std::filesystem::path checkpoint_of(const std::filesystem::path& path);

// Opens the checkpoint that a path means. A `data_folder` that
// is not empty stands in for the recipe's.
// Throws Error(kUnavailable) if there is none, Error(kDataLoss) if it is
// damaged or does not fit its own recipe, and Error(kInvalidArgument) where the
// data mean something else than those that it was trained on (check_marks()).
TrainedModel load_trained(const std::filesystem::path& path,
                          const std::filesystem::path& data_folder = {},
                          const GivenObjects& given = {});

// How a trained model is served: its parameters are frozen, and its recurrent
// layers have weights of `recurrent_weights` (ops/recurrent.h). Throws
// Error(kInvalidArgument) for narrow weights where the model has no recurrent
// layer.
StepOptions serving_options(TrainedModel& trained,
                            DType recurrent_weights = DType::kF32);

// Puts what such a model predicts into a file by itself. Throws as
// load_trained(), serving_options() and export_step() (step/export.h).
void export_trained(const std::filesystem::path& path,
                    const std::filesystem::path& file,
                    const std::filesystem::path& data_folder = {},
                    DType recurrent_weights = DType::kF32);
void export_trained(TrainedModel& trained, const std::filesystem::path& file,
                    DType recurrent_weights = DType::kF32);

}  // namespace weft
