// Keeps the keys of an owner's shards, and lets an enclave have those of a job
// once it has shown what it is.
//
// A request names a job and the nonce of its assignment, and a machine has
// signed it with a measurement. Keys are released only where the market has
// given the job to that machine, the job runs, the measurement is the job's
// (and one that the owner approves, where the owner says which), and the shards
// are of the job. They travel in a box that only the channel key of the request
// opens (X25519, XSalsa20-Poly1305); a nonce is answered once.
//
// Threads: caller synchronises.
// Errors:  Error(kInvalidArgument) with the reason for what is refused.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "weft/market/market.h"
#include "weft/market/platform.h"
#include "weft/market/sealed_shard.h"

namespace weft::market {

using ShardKeys = std::map<Digest, ShardKey>;

// A file of keys that only its owner may read. A missing one has none. Throws
// Error(kInvalidArgument) for one that others may read or that is damaged.
ShardKeys read_shard_keys(const std::filesystem::path& path);
void write_shard_keys(const std::filesystem::path& path, const ShardKeys& keys);

// What opens a box, made by an enclave for one request.
class KeyChannel {
 public:
  KeyChannel();
  ~KeyChannel();
  KeyChannel(const KeyChannel&) = delete;
  KeyChannel& operator=(const KeyChannel&) = delete;

  const PublicKey& public_key() const { return public_; }
  // Throws Error(kDataLoss) for a box that is not for this channel.
  ShardKeys open(std::string_view box) const;

 private:
  PublicKey public_;
  std::array<std::uint8_t, 32> secret_;
};

class KeyService {
 public:
  // `approved` measurements; none: whatever a job asks for. The market must
  // outlive this.
  KeyService(Market& market, ShardKeys keys, std::set<Digest> approved = {});

  // A box with the keys of those shards of the request that this service has
  // keys for; others have the rest.
  std::string release(const KeyRequest& request, const Signature& signature);

 private:
  Market& market_;
  ShardKeys keys_;
  std::set<Digest> approved_;
  std::set<Digest> answered_;  // nonces
};

}  // namespace weft::market
