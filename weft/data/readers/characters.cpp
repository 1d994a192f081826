// One text file of a person's, read as characters: the file itself, given as
// the folder, or the only .txt in a folder.
#include "weft/base/file.h"
#include "weft/data/character_text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCharacters = std::size_t{1} << 30;

// Empty where there is none, or which of several is meant cannot be told.
fs::path text_file(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_regular_file(folder, ignored)) {
    return folder.extension() == ".txt" ? folder : fs::path();
  }
  fs::path found;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".txt") continue;
    if (!found.empty()) return {};
    found = entry.path();
  }
  return found;
}

bool is_characters(const fs::path& folder) {
  return !text_file(folder).empty();
}

DatasetSplits open_characters(const DataRequest& request) {
  const fs::path path = text_file(request.folder);
  return character_splits(read_text(path, kMostCharacters), path.string(),
                          request);
}

}  // namespace

void register_data_characters(DatasetRegistry& registry) {
  registry.add({.name = "characters",
                .summary = "one text file, read character by character",
                .open = open_characters,
                .is_in = is_characters,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
