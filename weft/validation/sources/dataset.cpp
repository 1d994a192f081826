// Data sets by name, as recipes name them: "digits", "mnist", …
#include "weft/data/fetch.h"
#include "weft/validation/dataset_rows.h"

namespace weft {
namespace {

using validation::RowRequest;

bool reads_dataset(const RowRequest& request) {
  return dataset_registry().find(request.data) != nullptr;
}

std::unique_ptr<validation::RowSource> open_dataset_rows(
    const RowRequest& request) {
  const DatasetDef& def = dataset_registry().get(request.data);
  // A table is looked at as it stands, before its columns become numbers.
  if (def.table != nullptr && request.part == "train") {
    RowRequest file = request;
    file.data = def.table(locate_data(def, request.folder)).string();
    return validation::open_rows(file);
  }
  const DatasetSplits splits =
      open_data({.name = request.data, .folder = request.folder});
  const DatasetRef& part = request.part == "train"  ? splits.train
                           : request.part == "test" ? splits.test
                                                    : splits.valid;
  if (part == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, request.data,
                "these data have no part '{}'", request.part);
  }
  return validation::rows_of(part);
}

}  // namespace

void register_rows_dataset(validation::RowSourceRegistry& registry) {
  registry.add({.name = "dataset",
                .summary = "the name of a data set (weft data)",
                .reads = reads_dataset,
                .open = open_dataset_rows});
}

}  // namespace weft
