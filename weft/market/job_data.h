// What an enclave computes on: the rows of a job, from shards whose keys it has
// asked for.
//
// Threads: caller synchronises.
#pragma once

#include "weft/market/enclave.h"
#include "weft/market/shard_set.h"

namespace weft::market {

struct JobData {
  std::shared_ptr<const ShardSet> shards;
  DatasetRef rows = nullptr;  // that the job reads
  std::int64_t epochs = 0;    // that its gas pays for
};

// Throws Error(kInvalidArgument) for an order that does not fit its shards or
// its recipe, Error(kUnavailable) without the keys, and Error(kExhausted) where
// the gas pays for no epoch.
JobData open_job(const EnclaveOrder& order, const Digest& nonce,
                 const Platform& platform, const AskKeys& ask);

// What the worker of the order runs. Throws Error(kInvalidArgument) where it
// runs nothing.
const Assignment& assignment_in(const EnclaveOrder& order);

// Throws Error(kInvalidArgument) unless the platform is what the job is for.
void require_measured(const EnclaveOrder& order, const Platform& platform);

// A folder of one job on the disk, removed however it ends.
class Scratch {
 public:
  explicit Scratch(std::filesystem::path folder);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace weft::market
