#include "weft/comm/tcp/run_key.h"

#include <cstdlib>
#include <sodium.h>
#include <sys/stat.h>

#include "weft/base/file.h"

namespace weft::tcp {
namespace {

// Keys for other purposes that are made from the same text are others.
constexpr std::string_view kPurpose = "weft tcp run key";

std::string_view without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

void refuse_readers(const std::string& file) {
  struct stat status {};
  // A file that is not there is reported by whoever reads it.
  if (stat(file.c_str(), &status) != 0) return;
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) == 0) return;
  throw Error(ErrorCode::kInvalidArgument, file,
              "others than its owner may read or change this key")
      .hint("chmod 600 " + file +
            ", or a new key if they may have: " + std::string(kMakeKey));
}

}  // namespace

RunKey::RunKey(std::string_view text, std::string_view where) {
  const std::string_view key = without_space(text);
  if (key.size() < kLeastKeyBytes) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "the key has {} bytes, and needs {} that nobody can guess",
                key.size(), kLeastKeyBytes)
        .hint(kMakeKey);
  }
  crypto_generichash(
      bytes_.data(), bytes_.size(),
      reinterpret_cast<const unsigned char*>(key.data()), key.size(),
      reinterpret_cast<const unsigned char*>(kPurpose.data()), kPurpose.size());
}

RunKey::~RunKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

std::optional<RunKey> find_run_key(const std::string& file) {
  constexpr std::size_t kMostKeyBytes = 4096;
  if (!file.empty()) {
    refuse_readers(file);
    return RunKey(read_text(file, kMostKeyBytes), file);
  }
  const char* text = std::getenv("WEFT_KEY");
  if (text == nullptr) return std::nullopt;
  return RunKey(text, "WEFT_KEY");
}

}  // namespace weft::tcp
