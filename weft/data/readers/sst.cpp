// The Stanford Sentiment Treebank (Socher et al., 2013): train.txt, dev.txt
// and test.txt, a labelled parse tree a line.
#include "weft/base/file.h"
#include "weft/data/registry.h"
#include "weft/data/tree_bank.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTreeBytes = std::size_t{64} << 20;

const std::vector<std::string>& sentiments() {
  static const std::vector<std::string> names = {
      "very negative", "negative", "neutral", "positive", "very positive"};
  return names;
}

std::vector<ParseTree> read_part(const fs::path& path) {
  return parse_trees(read_text(path, kMostTreeBytes), path.string(),
                     static_cast<std::int32_t>(sentiments().size()));
}

bool is_sst(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "train.txt", ignored) &&
         fs::is_regular_file(folder / "dev.txt", ignored) &&
         fs::is_regular_file(folder / "test.txt", ignored);
}

DatasetSplits open_sst(const DataRequest& request) {
  std::vector<ParseTree> train = read_part(request.folder / "train.txt");
  std::vector<ParseTree> valid = read_part(request.folder / "dev.txt");
  std::vector<ParseTree> test = read_part(request.folder / "test.txt");
  // All parts share one table size, so that a model that was trained on one can
  // be measured on another.
  std::size_t most = 1;
  for (const auto* part : {&train, &valid, &test}) {
    for (const ParseTree& tree : *part)
      most = std::max(most, tree.nodes.size());
  }
  const TreeBank bank(train, static_cast<std::int64_t>(most));
  return {.train = bank.dataset(std::move(train), "sst", sentiments()),
          .test = bank.dataset(std::move(test), "sst", sentiments()),
          .valid = bank.dataset(std::move(valid), "sst", sentiments())};
}

}  // namespace

void register_data_sst(DatasetRegistry& registry) {
  registry.add({.name = "sst",
                .summary = "Stanford Sentiment Treebank, 8,544 parse trees",
                .open = open_sst,
                .is_in = is_sst,
                .terms = "states none: it cannot be fetched; put train.txt, "
                         "dev.txt and test.txt, a tree in brackets a line, "
                         "into a folder and name it with --data"});
}

}  // namespace weft
