// The Stanford Sentiment Treebank (Socher et al., 2013): train.txt, dev.txt
// and test.txt, a labelled parse tree a line.
#include "weft/base/file.h"
#include "weft/data/registry.h"
#include "weft/data/sentence_bank.h"
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

struct SstParts {
  std::vector<ParseTree> train, valid, test;

  // All parts share their largest size, so that a model that was trained on one
  // can be measured on another.
  std::int64_t most(std::int64_t (*size)(const ParseTree&)) const {
    std::int64_t found = 1;
    for (const auto* part : {&train, &valid, &test}) {
      for (const ParseTree& tree : *part) found = std::max(found, size(tree));
    }
    return found;
  }
};

DatasetSplits as_trees(SstParts parts) {
  const TreeBank bank(parts.train, parts.most([](const ParseTree& tree) {
    return static_cast<std::int64_t>(tree.nodes.size());
  }));
  return {.train = bank.dataset(std::move(parts.train), "sst", sentiments()),
          .test = bank.dataset(std::move(parts.test), "sst", sentiments()),
          .valid = bank.dataset(std::move(parts.valid), "sst", sentiments())};
}

// Whatever is trained on, whole sentences are what is measured.
DatasetSplits as_sentences(const SstParts& parts,
                           SentenceBank::Examples trained) {
  const SentenceBank bank(parts.train, parts.most(count_leaves));
  const auto made = [&](const std::vector<ParseTree>& part,
                        SentenceBank::Examples examples) {
    return bank.dataset(part, examples, "sst", sentiments());
  };
  return {.train = made(parts.train, trained),
          .test = made(parts.test, SentenceBank::Examples::kSentences),
          .valid = made(parts.valid, SentenceBank::Examples::kSentences)};
}

DatasetSplits open_sst(const DataRequest& request) {
  SstParts parts{.train = read_part(request.folder / "train.txt"),
                 .valid = read_part(request.folder / "dev.txt"),
                 .test = read_part(request.folder / "test.txt")};
  const auto& examples = option<std::string>(request.options, "examples");
  if (examples == "trees") return as_trees(std::move(parts));
  return as_sentences(parts, examples == "phrases"
                                 ? SentenceBank::Examples::kPhrases
                                 : SentenceBank::Examples::kSentences);
}

}  // namespace

void register_data_sst(DatasetRegistry& registry) {
  registry.add({.name = "sst",
                .summary = "Stanford Sentiment Treebank, 8,544 parse trees",
                .options = {{.name = "examples",
                             .value = std::string("trees"),
                             .summary = "parse trees, rows of words, or rows "
                                        "of words of every phrase to train on",
                             .choices = {"trees", "sentences", "phrases"}}},
                .open = open_sst,
                .is_in = is_sst,
                .terms = "states none: it cannot be fetched; put train.txt, "
                         "dev.txt and test.txt, a tree in brackets a line, "
                         "into a folder and name it with --data"});
}

}  // namespace weft
