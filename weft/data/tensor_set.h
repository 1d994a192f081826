// Examples that lie in memory already, as a program has made them.
//
//   const DatasetRef set = tensor_set(
//       "spirals", {{"point", points}, {"label", labels}}, {"left", "right"});
//
// Threads: as Dataset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/data/dataset.h"

namespace weft {

// A feature as it is called, and its values: the first axis counts examples,
// and is as long for all.
struct TensorFeature {
  std::string name;
  Tensor values;
};

// The last feature is the label. Integers of rank 0 are numbers of classes,
// which are called "0", "1", … unless `classes` says more; floats are targets
// of regression, and are scaled by their own mean and deviation. u8 pixels
// [height, width, channels] of the first feature become numbers from 0 to 1.
// Shares the tensors' memory, which must stay as it is.
//
// Throws Error(kInvalidArgument) for fewer than one feature or example, for
// features of different lengths, and for a label that is no number of a class.
DatasetRef tensor_set(std::string name, std::vector<TensorFeature> features,
                      std::vector<std::string> classes = {});

// What labels of all examples say, as tensor_set() takes them, whose first axis
// counts the examples of `name`. Throws likewise.
struct TensorLabels {
  std::vector<std::string> classes;
  NumberScale scale;  // of targets
};
TensorLabels labels_of(std::string_view name, const Tensor& labels,
                       std::vector<std::string> classes);

}  // namespace weft
