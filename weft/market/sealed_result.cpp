#include "weft/market/sealed_result.h"

#include <sodium.h>

#include "weft/base/file.h"

namespace weft::market {

void write_result(const std::filesystem::path& path, const PublicKey& reader,
                  std::string_view plain) {
  PublicKey channel;
  if (crypto_sign_ed25519_pk_to_curve25519(channel.data(), reader.data()) !=
      0) {
    throw Error(ErrorCode::kInvalidArgument, "key",
                "{} is no key that one can encrypt to", to_hex(reader));
  }
  std::string box(plain.size() + crypto_box_SEALBYTES, '\0');
  crypto_box_seal(reinterpret_cast<unsigned char*>(box.data()),
                  reinterpret_cast<const unsigned char*>(plain.data()),
                  plain.size(), channel.data());
  write_file(path, box);
}

std::string read_result(const std::filesystem::path& path,
                        const SigningKey& reader) {
  const MappedFile file(path);
  std::array<std::uint8_t, 32> secret;
  PublicKey channel;
  reader.channel_keys(secret, channel);
  const ByteSpan box = file.bytes();
  const bool is_long = box.size() >= crypto_box_SEALBYTES;
  std::string plain(is_long ? box.size() - crypto_box_SEALBYTES : 0, '\0');
  const bool is_open =
      is_long && crypto_box_seal_open(
                     reinterpret_cast<unsigned char*>(plain.data()), box.data(),
                     box.size(), channel.data(), secret.data()) == 0;
  sodium_memzero(secret.data(), secret.size());
  if (!is_open) {
    throw Error(ErrorCode::kDataLoss, path.string(),
                "is no result for this key");
  }
  return plain;
}

std::string file_bytes(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()),
          file.bytes().size()};
}

}  // namespace weft::market
