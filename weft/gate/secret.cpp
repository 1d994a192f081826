#include "weft/gate/secret.h"

#include <cstdlib>
#include <sodium.h>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/file.h"
#include "weft/base/secret_file.h"

namespace weft {
namespace {

constexpr int kBase64 = sodium_base64_VARIANT_ORIGINAL;
constexpr std::size_t kSealedBlock = 4096;
constexpr std::size_t kSealedOverhead =
    crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;

}  // namespace

GateKey GateKey::make() {
  GateKey key;
  crypto_secretbox_keygen(key.key_.data());
  return key;
}

GateKey::~GateKey() { sodium_memzero(key_.data(), key_.size()); }

GateKey GateKey::from_text(std::string_view text, const std::string& where) {
  GateKey key;
  std::size_t length = 0;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.size() != 2 * key.key_.size() ||
      sodium_hex2bin(key.key_.data(), key.key_.size(), text.data(), text.size(),
                     /*ignore=*/nullptr, &length, /*end=*/nullptr) != 0 ||
      length != key.key_.size()) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "a gate's key is {} hexadecimal digits", 2 * key.key_.size());
  }
  return key;
}

GateKey GateKey::load(const std::filesystem::path& path) {
  if (!path.empty()) {
    check_secret(path);
    return from_text(read_text(path, 4096), path.string());
  }
  const char* text = std::getenv(kGateKeyVariable);
  if (text == nullptr) {
    throw Error(ErrorCode::kUnavailable, "gate",
                "there is no key: the gate file names none, and {} is not set",
                kGateKeyVariable)
        .hint("weft gate key FILE makes one, and key = \"FILE\" names it");
  }
  return from_text(text, kGateKeyVariable);
}

void GateKey::save(const std::filesystem::path& path) const {
  std::string text(2 * key_.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), key_.data(), key_.size());
  text.back() = '\n';
  write_secret(path, text);
  sodium_memzero(text.data(), text.size());
}

std::string GateKey::id() const {
  std::array<std::uint8_t, crypto_generichash_BYTES_MIN> digest{};
  crypto_generichash(digest.data(), digest.size(), key_.data(), key_.size(),
                     /*key=*/nullptr, 0);
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string GateKey::seal(std::string_view text) const {
  std::vector<unsigned char> padded(text.begin(), text.end());
  padded.resize(text.size() + kSealedBlock);
  std::size_t length = 0;
  WEFT_CHECK(sodium_pad(&length, padded.data(), text.size(), kSealedBlock,
                        padded.size()) == 0);
  std::vector<unsigned char> box(kSealedOverhead + length);
  randombytes_buf(box.data(), crypto_secretbox_NONCEBYTES);
  crypto_secretbox_easy(box.data() + crypto_secretbox_NONCEBYTES, padded.data(),
                        length, box.data(), key_.data());
  std::string sealed(sodium_base64_encoded_len(box.size(), kBase64), '\0');
  sodium_bin2base64(sealed.data(), sealed.size(), box.data(), box.size(),
                    kBase64);
  sealed.pop_back();  // the zero behind it
  return sealed;
}

std::string GateKey::open(std::string_view sealed) const {
  std::vector<unsigned char> box(sealed.size());
  std::size_t length = 0;
  // Nothing has no address, which the library must not be given.
  const bool is_base64 =
      !sealed.empty() &&
      sodium_base642bin(box.data(), box.size(), sealed.data(), sealed.size(),
                        /*ignore=*/nullptr, &length, /*end=*/nullptr,
                        kBase64) == 0 &&
      length > kSealedOverhead;
  std::vector<unsigned char> padded(is_base64 ? length - kSealedOverhead : 0);
  if (!is_base64 ||
      crypto_secretbox_open_easy(
          padded.data(), box.data() + crypto_secretbox_NONCEBYTES,
          length - crypto_secretbox_NONCEBYTES, box.data(), key_.data()) != 0 ||
      sodium_unpad(&length, padded.data(), padded.size(), kSealedBlock) != 0) {
    throw Error(ErrorCode::kDataLoss, "gate",
                "what the ledger keeps sealed does not open: it was sealed "
                "with another key, or changed since");
  }
  return {padded.begin(), padded.begin() + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace weft
