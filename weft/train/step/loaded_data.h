// Data sets as the data of a training: each part is read by a loader, the
// training part shuffled anew in each epoch.
//
// Threads: caller synchronises.
#pragma once

#include "weft/train/step/training_data.h"

namespace weft {

// Sets that a program has made (data/tensor_set.h) or opened: a training part,
// and one to measure on. `options` say how batches are made. Throws
// Error(kInvalidArgument) where such a part is missing, or has other features.
std::unique_ptr<TrainingData> loaded_data(DatasetSplits splits,
                                          const DataOptions& options);

}  // namespace weft
