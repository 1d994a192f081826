// Tables: train.csv and test.csv in a folder, or one .csv file (given as the
// folder, or alone in it), of which a fifth is held out.
#include "weft/data/csv.h"

#include "weft/base/file.h"
#include "weft/data/registry.h"
#include "weft/data/table.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Tables are held in memory, and larger ones are refused.
constexpr std::size_t kMostTableBytes = std::size_t{2} << 30;

// The file to read when there is no train.csv.
fs::path single_file(const fs::path& folder) {
  if (fs::is_regular_file(folder)) return folder;
  fs::path found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".csv") continue;
    // Which of several tables was meant is not guessed.
    if (!found.empty()) {
      throw Error(ErrorCode::kUnavailable, folder.string(),
                  "several .csv files; name one, or call two of them train.csv "
                  "and test.csv");
    }
    found = entry.path();
  }
  return found;
}

bool is_csv(const fs::path& folder) {
  return fs::is_regular_file(folder / "train.csv") ||
         !single_file(folder).empty();
}

DatasetSplits open_csv(const DataRequest& request) {
  const fs::path& folder = request.folder;
  const TableOptions options = table_options(request.options);
  if (!fs::is_regular_file(folder / "train.csv")) {
    const fs::path file = single_file(folder);
    if (file.empty()) {
      throw Error(ErrorCode::kUnavailable, folder.string(),
                  "no .csv file is here");
    }
    return split_table(read_text(file, kMostTableBytes), file.string(),
                       options);
  }
  const auto read = [&](const char* name, const Dataset* train) {
    const fs::path path = folder / name;
    return parse_table(read_text(path, kMostTableBytes), path.string(), options,
                       train);
  };
  DatasetSplits splits;
  splits.train = read("train.csv", nullptr);
  // The test part is read as the training part was, with its classes and
  // scales.
  splits.test = read("test.csv", splits.train.get());
  return splits;
}

fs::path csv_table(const fs::path& folder) {
  const fs::path train = folder / "train.csv";
  return fs::is_regular_file(train) ? train : single_file(folder);
}

}  // namespace

void register_data_csv(DatasetRegistry& registry) {
  registry.add({.name = "csv",
                .summary = "tables with a label column",
                .options = table_option_specs(),
                .open = open_csv,
                .is_in = is_csv,
                .table = csv_table,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
