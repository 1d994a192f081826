// Tiny Shakespeare (Karpathy, char-rnn, 2015): 1.1 MB of speeches in one file,
// read as characters. The last tenth is held out, half of it to choose by and
// half to test with.
#include "weft/base/file.h"
#include "weft/data/registry.h"
#include "weft/data/text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "input.txt";
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

// Characters as words of one byte, numbered by the training part alone.
Vocabulary characters_of(std::string_view text) {
  WordCounts counts;
  for (std::size_t i = 0; i < text.size(); ++i) ++counts[text.substr(i, 1)];
  return Vocabulary(words_by_frequency(counts));
}

std::vector<std::int32_t> encode(const Vocabulary& vocabulary,
                                 std::string_view text,
                                 std::string_view where) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::int32_t number = vocabulary.find(text.substr(i, 1));
    if (number < 0) {
      throw Error(ErrorCode::kDataLoss, where,
                  "byte {}: a character that the training part has not", i);
    }
    numbers.push_back(number);
  }
  return numbers;
}

DatasetSplits open_tinyshakespeare(const DataRequest& request) {
  const std::string path = (request.folder / kFile).string();
  const std::string text = read_text(path, kMostBytes);
  const std::string_view whole = text;
  const std::size_t valid = whole.size() * 18 / 20;
  const std::size_t test = whole.size() * 19 / 20;
  const Vocabulary vocabulary = characters_of(whole.substr(0, valid));
  const auto part = [&](std::size_t begin, std::size_t end) {
    return stream_dataset(
        encode(vocabulary, whole.substr(begin, end - begin), path),
        vocabulary.words(), request.batch, request.steps, path);
  };
  DatasetSplits splits;
  splits.train = part(0, valid);
  splits.valid = part(valid, test);
  splits.test = part(test, whole.size());
  return splits;
}

bool is_tinyshakespeare(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kFile, ignored);
}

}  // namespace

void register_data_tinyshakespeare(DatasetRegistry& registry) {
  registry.add(
      {.name = "tinyshakespeare",
       .summary = "1,115,394 characters of Shakespeare, for a language model",
       .open = open_tinyshakespeare,
       .is_in = is_tinyshakespeare,
       .sources = {{"https://raw.githubusercontent.com/karpathy/char-rnn/"
                    "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/"
                    "tinyshakespeare/input.txt",
                    kFile,
                    "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e"
                    "2dc565ed",
                    1115394}},
       .terms = "public domain"});
}

}  // namespace weft
