// Tables as JSON lines: train.jsonl and test.jsonl in a folder, or one .jsonl
// file, given as the folder, of which a fifth is held out.
#include "weft/data/json_lines.h"

#include "weft/base/file.h"
#include "weft/data/registry.h"
#include "weft/data/table.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostJsonBytes = std::size_t{2} << 30;

bool is_json_lines(const fs::path& folder) {
  std::error_code ignored;
  return (folder.extension() == ".jsonl" &&
          fs::is_regular_file(folder, ignored)) ||
         fs::is_regular_file(folder / "train.jsonl", ignored);
}

DatasetSplits open_json_lines(const DataRequest& request) {
  TableOptions options = table_options(request.options);
  const auto read = [&](const fs::path& path) {
    const JsonLines lines = read_json_lines(
        read_text(path, kMostJsonBytes), path.string(), options.format.names);
    options.format.names = lines.names;
    options.format.lines = lines.lines;
    return lines.csv;
  };
  std::error_code ignored;
  if (fs::is_regular_file(request.folder, ignored)) {
    const std::string csv = read(request.folder);
    return split_table(csv, request.folder.string(), options);
  }
  DatasetSplits splits;
  for (const char* part : {"train", "test"}) {
    const fs::path path = request.folder / fmt::format("{}.jsonl", part);
    const std::string csv = read(path);
    const bool is_training = splits.train == nullptr;
    DatasetRef& split = is_training ? splits.train : splits.test;
    split = parse_table(csv, path.string(), options,
                        is_training ? nullptr : splits.train.get());
  }
  return splits;
}

fs::path json_lines_table(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder, ignored) ? folder : folder / "train.jsonl";
}

}  // namespace

void register_data_json_lines(DatasetRegistry& registry) {
  registry.add({.name = "json_lines",
                .summary = "tables with an object a line, and a label",
                .options = table_option_specs(),
                .open = open_json_lines,
                .is_in = is_json_lines,
                .table = json_lines_table,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
