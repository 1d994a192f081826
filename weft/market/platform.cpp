#include "weft/market/platform.h"

#include "weft/market/sealed_result.h"
#include "weft/market/sealed_shard.h"

namespace weft::market {
namespace {

constexpr std::string_view kKeyRequestContext = "weft market key request";

class SoftwarePlatform final : public Platform {
 public:
  SoftwarePlatform(const SigningKey& key, const Digest& measurement)
      : key_(key), measurement_(measurement) {}

  PublicKey machine() const override { return key_.public_key(); }
  Digest measurement() const override { return measurement_; }
  Signature quote(Report& report) const override {
    report.measurement = measurement_;
    return sign_report(key_, report);
  }
  Signature quote(KeyRequest& request) const override {
    request.measurement = measurement_;
    return key_.sign(kKeyRequestContext, bytes_of(request));
  }
  Signature quote(Verdict& verdict) const override {
    verdict.measurement = measurement_;
    return sign_verdict(key_, verdict);
  }
  std::string unseal(const std::filesystem::path& path) const override {
    return read_result(path, key_);
  }

 private:
  SigningKey key_;
  Digest measurement_;
};

void put_bytes(std::string& text, std::span<const std::uint8_t> bytes) {
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

std::string bytes_of(const KeyRequest& request) {
  std::string bytes = fmt::format("{}\n", request.job);
  put_bytes(bytes, request.nonce);
  put_bytes(bytes, request.measurement);
  put_bytes(bytes, request.channel);
  for (const Digest& content : request.contents) put_bytes(bytes, content);
  return bytes;
}

bool is_signed(const KeyRequest& request, const Signature& signature,
               const PublicKey& machine) {
  return is_signed_by(machine, signature, kKeyRequestContext,
                      bytes_of(request));
}

Digest measurement_of(const std::filesystem::path& program,
                      const std::string& recipe, const std::string& task) {
  return digest_of_bytes(fmt::format("weft market measurement\n{}\n{}\n{}\n{}",
                                     to_hex(digest_of_file(program)), task,
                                     recipe.size(), recipe));
}

std::filesystem::path own_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

std::unique_ptr<Platform> software_platform(
    const std::filesystem::path& machine_key, const std::string& recipe,
    const std::string& task) {
  return std::make_unique<SoftwarePlatform>(
      SigningKey::read(machine_key),
      measurement_of(own_program(), recipe, task));
}

}  // namespace weft::market
