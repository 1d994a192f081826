#include "weft/market/key_service.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sodium.h>
#include <sys/stat.h>

#include "weft/base/file.h"

namespace weft::market {
namespace {

constexpr std::size_t kKeyEntryBytes = sizeof(Digest) + sizeof(ShardKey);

Error refused_keys(std::string_view why) {
  return Error(ErrorCode::kInvalidArgument, "key service",
               "keys are not released: {}", why);
}

bool is_read_by(const State& state, const Job& job, const Digest& content) {
  const auto found = state.shard_of_content.find(content);
  return found != state.shard_of_content.end() &&
         std::ranges::find(job.shards, found->second) != job.shards.end();
}

// The assignment that the nonce is of.
const Assignment& asked_by(const Job& job, const KeyRequest& request) {
  const auto is_asked = [&](const Assignment& assignment) {
    return assignment.nonce == request.nonce &&
           assignment.state == AssignmentState::kRunning;
  };
  for (const Assignment& assignment : job.assignments) {
    if (is_asked(assignment)) return assignment;
  }
  for (const Checker& checker : job.checking.checkers) {
    if (is_asked(checker.assignment)) return checker.assignment;
  }
  throw refused_keys("no running assignment of the job has this nonce");
}

}  // namespace

ShardKeys read_shard_keys(const std::filesystem::path& path) {
  ShardKeys keys;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return keys;
  if ((status.st_mode & 077) != 0) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "others may read these keys")
        .hint("chmod 600 " + path.string());
  }
  const auto json = nlohmann::json::parse(read_text(path), /*cb=*/nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "is no object of JSON with keys of shards");
  }
  for (const auto& [name, value] : json.items()) {
    Digest content;
    ShardKey key;
    if (!from_hex(name, content) || !value.is_string() ||
        !from_hex(value.get<std::string>(), key)) {
      throw Error(ErrorCode::kInvalidArgument, path.string(),
                  "holds what is no key of a shard");
    }
    keys[content] = key;
  }
  return keys;
}

void write_shard_keys(const std::filesystem::path& path,
                      const ShardKeys& keys) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [content, key] : keys) json[to_hex(content)] = to_hex(key);
  // The file never stands there with rights that others could use.
  const mode_t before = umask(0077);
  try {
    write_file(path, json.dump(1) + "\n");
  } catch (...) {
    umask(before);
    throw;
  }
  umask(before);
}

KeyChannel::KeyChannel() { crypto_box_keypair(public_.data(), secret_.data()); }
KeyChannel::~KeyChannel() { sodium_memzero(secret_.data(), secret_.size()); }

ShardKeys KeyChannel::open(std::string_view box) const {
  const auto wrong = [] {
    return Error(ErrorCode::kDataLoss, "key service",
                 "the box is not for this channel");
  };
  if (box.size() < crypto_box_SEALBYTES ||
      (box.size() - crypto_box_SEALBYTES) % kKeyEntryBytes != 0) {
    throw wrong();
  }
  std::vector<std::uint8_t> plain(box.size() - crypto_box_SEALBYTES);
  if (crypto_box_seal_open(plain.data(),
                           reinterpret_cast<const unsigned char*>(box.data()),
                           box.size(), public_.data(), secret_.data()) != 0) {
    throw wrong();
  }
  ShardKeys keys;
  for (std::size_t at = 0; at < plain.size(); at += kKeyEntryBytes) {
    Digest content;
    std::copy_n(plain.begin() + static_cast<std::ptrdiff_t>(at), content.size(),
                content.begin());
    std::copy_n(
        plain.begin() + static_cast<std::ptrdiff_t>(at + content.size()),
        sizeof(ShardKey), keys[content].begin());
  }
  sodium_memzero(plain.data(), plain.size());
  return keys;
}

KeyService::KeyService(Market& market, ShardKeys keys,
                       std::set<Digest> approved)
    : market_(market), keys_(std::move(keys)), approved_(std::move(approved)) {}

std::string KeyService::release(const KeyRequest& request,
                                const Signature& signature) {
  const State& state = market_.current();
  const Job& job = entry(state.jobs, request.job, "job");
  const Assignment& assignment = asked_by(job, request);
  if (!is_signed(request, signature,
                 state.workers.at(assignment.worker).machine)) {
    throw refused_keys("the request is not signed by the machine of the job");
  }
  if (request.measurement != job.measurement) {
    throw refused_keys("another program asks than the job is for");
  }
  if (!approved_.empty() && !approved_.contains(request.measurement)) {
    throw refused_keys("the owner does not approve of the program");
  }
  std::vector<std::uint8_t> plain;
  for (const Digest& content : request.contents) {
    if (!is_read_by(state, job, content)) {
      throw refused_keys("the job does not read shard " + to_hex(content));
    }
    const auto key = keys_.find(content);
    if (key == keys_.end()) continue;
    plain.insert(plain.end(), content.begin(), content.end());
    plain.insert(plain.end(), key->second.begin(), key->second.end());
  }
  if (plain.empty()) throw refused_keys("none of the shards is of this owner");
  if (!answered_.insert(request.nonce).second) {
    sodium_memzero(plain.data(), plain.size());
    throw refused_keys("this nonce was answered already");
  }
  std::string box(plain.size() + crypto_box_SEALBYTES, '\0');
  const int sealed =
      crypto_box_seal(reinterpret_cast<unsigned char*>(box.data()),
                      plain.data(), plain.size(), request.channel.data());
  sodium_memzero(plain.data(), plain.size());
  if (sealed != 0) throw refused_keys("the channel has no valid key");
  return box;
}

}  // namespace weft::market
