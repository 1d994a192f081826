// Texts for language models: PREFIXtrain.txt, PREFIXvalid.txt and
// PREFIXtest.txt in a folder. "ptb" is the Penn Treebank text in Mikolov's
// preparation (ptb.train.txt …); "text" any other, without prefix.
#include "weft/data/text.h"

#include "weft/base/file.h"
#include "weft/data/registry.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTextBytes = std::size_t{2} << 30;

bool has_train(const fs::path& folder, const std::string& prefix) {
  std::error_code ignored;
  return fs::is_regular_file(folder / (prefix + "train.txt"), ignored);
}

DatasetSplits open_text(const DataRequest& request, const std::string& prefix) {
  const auto path = [&](const char* part) {
    return request.folder / (prefix + part + ".txt");
  };
  const std::string train = read_text(path("train"), kMostTextBytes);
  const Vocabulary vocabulary =
      // Words are numbered by the training text alone: the others must not tell
      // the model what it will meet.
      Vocabulary::build(train, path("train").string());
  const auto read = [&](const char* part, const std::string& text) {
    const std::string where = path(part).string();
    return stream_dataset(vocabulary.encode(text, where), vocabulary.words(),
                          request.batch, request.steps, where);
  };
  DatasetSplits splits;
  splits.train = read("train", train);
  splits.test = read("test", read_text(path("test"), kMostTextBytes));
  if (fs::is_regular_file(path("valid"))) {
    splits.valid = read("valid", read_text(path("valid"), kMostTextBytes));
  }
  return splits;
}

bool is_ptb(const fs::path& folder) { return has_train(folder, "ptb."); }
bool is_text(const fs::path& folder) { return has_train(folder, ""); }

DatasetSplits open_ptb(const DataRequest& request) {
  return open_text(request, "ptb.");
}
DatasetSplits open_text(const DataRequest& request) {
  return open_text(request, "");
}

}  // namespace

void register_data_text(DatasetRegistry& registry) {
  registry.add({.name = "ptb",
                .summary = "Penn Treebank text, 929,589 words to train on",
                .open = open_ptb,
                .is_in = is_ptb,
                .terms = "licensed by the LDC: it cannot be fetched; put "
                         "ptb.train.txt, ptb.valid.txt and ptb.test.txt into "
                         "a folder and name it with --data"});
  registry.add({.name = "text",
                .summary = "train.txt and test.txt for a language model",
                .open = open_text,
                .is_in = is_text,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
