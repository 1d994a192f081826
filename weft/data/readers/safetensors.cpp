// Named tensors in safetensors files, whose first axis counts examples: mapped
// and not read, so that they may be larger than memory.
#include "weft/files/safetensors.h"

#include <algorithm>

#include "weft/data/named_tensors.h"
#include "weft/data/tensor_set.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".safetensors";

bool is_safetensors(const fs::path& folder) {
  return is_tensor_file(folder, kExtension);
}

DatasetRef open_file(const fs::path& path, const Options& options,
                     const Dataset* train) {
  const SafetensorsFile file(path);
  const std::string where = path.string();
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : file.entries()) {
    names.push_back(entry.name);
  }
  // The order of names, as that of bytes is the writer's.
  std::ranges::sort(names);
  std::vector<TensorFeature> features;
  for (const std::string& name : chosen_tensors(names, options, where)) {
    features.push_back({name, file.map(*file.find(name))});
  }
  features.back().values = as_labels(features.back().values, where);
  return tensor_set(
      where, std::move(features),
      train == nullptr ? std::vector<std::string>() : train->classes());
}

DatasetSplits open_safetensors(const DataRequest& request) {
  return open_tensor_files(request.folder, kExtension,
                           [&](const fs::path& path, const Dataset* train) {
                             return open_file(path, request.options, train);
                           });
}

}  // namespace

void register_data_safetensors(DatasetRegistry& registry) {
  registry.add({.name = "safetensors",
                .summary = "named tensors (.safetensors), an example a row",
                .options = named_tensor_specs(),
                .open = open_safetensors,
                .is_in = is_safetensors,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
