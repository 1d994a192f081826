// Tiny Shakespeare (Karpathy, char-rnn, 2015): 1.1 MB of speeches in one file,
// read as characters.
#include "weft/base/file.h"
#include "weft/data/character_text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "input.txt";
constexpr std::size_t kMostText = std::size_t{1} << 30;

DatasetSplits open_tinyshakespeare(const DataRequest& request) {
  const std::string path = (request.folder / kFile).string();
  return character_splits(read_text(path, kMostText), path, request);
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
