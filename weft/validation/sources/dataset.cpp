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
