// Tables as Parquet: train.parquet and test.parquet in a folder, or folders of
// those names with the parts of each; or one file, or a folder of parts, of
// which a fifth is held out.
#include "weft/data/parquet_pieces.h"
#include "weft/data/piece_table.h"
#include "weft/data/registry.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// A part of the data, as a file or as a folder; "" if it is neither.
fs::path parquet_part(const fs::path& folder, const char* name) {
  fs::path file = folder / fmt::format("{}.parquet", name);
  if (!parquet_files(file).empty()) return file;
  return parquet_files(folder / name).empty() ? fs::path() : folder / name;
}

// What there is to look at before anything is learned.
fs::path parquet_table(const fs::path& folder) {
  const fs::path train = parquet_part(folder, "train");
  return train.empty() ? folder : train;
}

bool is_parquet(const fs::path& folder) {
  return !parquet_files(parquet_table(folder)).empty();
}

DatasetSplits open_parquet(const DataRequest& request) {
  const TableOptions options = table_options(request.options);
  const auto pieces_of = [&](const fs::path& path) {
    return std::make_shared<ParquetPieces>(parquet_files(path), path.string(),
                                           options.ignore);
  };
  const fs::path path = parquet_table(request.folder);
  const auto pieces = pieces_of(path);
  const PieceOptions typed{
      .table = pieces->typed(options),
      .mixed = option<std::int64_t>(request.options, "mixed")};
  if (path == request.folder) return split_pieces(pieces, typed);
  const fs::path test = parquet_part(request.folder, "test");
  if (test.empty()) {
    throw Error(ErrorCode::kUnavailable, request.folder.string(),
                "there is a train part, but neither test.parquet nor a folder "
                "test with Parquet files");
  }
  DatasetSplits splits;
  splits.train = open_pieces(pieces, typed);
  // The test part is read as the training part was, with its classes and
  // scales.
  splits.test = open_pieces(pieces_of(test), typed, splits.train.get());
  return splits;
}

}  // namespace

void register_data_parquet(DatasetRegistry& registry) {
  std::vector<OptionSpec> options = table_option_specs();
  options.push_back(
      {"mixed",
       std::int64_t{0},
       "row groups that are shuffled with each other, and kept in "
       "memory; 0: all",
       {.least = 0},
       {},
       "row groups"});
  registry.add({.name = "parquet",
                .summary = "tables in Parquet, also larger than memory",
                .options = std::move(options),
                .open = open_parquet,
                .is_in = is_parquet,
                .table = parquet_table,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
