// Files of named tensors as data sets: what formats that hold such
// (safetensors, HDF5) have in common. The first axis of each tensor counts
// examples; one of them is the label.
//
// Threads: pure functions.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/data/registry.h"
#include "weft/tensor/tensor.h"

namespace weft {

// The keys inputs and label of [data].
std::vector<OptionSpec> named_tensor_specs();

// Which tensors of a file are features, in their order, the label last: those
// that the options name; else all, of which the one that is called label,
// labels, target, targets or y is the label. Throws Error(kInvalidArgument)
// with the nearest name for one that `where` has not, and where none is a
// label.
std::vector<std::string> chosen_tensors(const std::vector<std::string>& names,
                                        const Options& options,
                                        std::string_view where);

// Labels as they are trained on: numbers of classes as i32, all else as it is.
// Throws Error(kDataLoss) with `where` for a number that is no i32.
Tensor as_labels(const Tensor& values, std::string_view where);

// train.EXTENSION and test.EXTENSION in a folder; or one file, given as the
// folder, of which a fifth is held out. `open` gets a file, and the training
// part of a test part.
using OpenTensors = std::function<DatasetRef(const std::filesystem::path&,
                                             const Dataset* train)>;
bool is_tensor_file(const std::filesystem::path& folder,
                    std::string_view extension);
DatasetSplits open_tensor_files(const std::filesystem::path& folder,
                                std::string_view extension,
                                const OpenTensors& open);

// Throws Error(kDataLoss) unless both parts have the same features.
void check_alike(const Dataset& train, const Dataset& test);

}  // namespace weft
