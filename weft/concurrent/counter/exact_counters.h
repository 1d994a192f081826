// The exact counters that a MultiCounter is measured against: one cell that all
// threads contend for, and one cell for each thread, whose sum takes O(threads)
// and is the count of no single moment while threads add.
//
// Threads: all at once.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <Memory M = RealMemory>
class FetchAddCounter {
 public:
  // Returns the count just after.
  std::uint64_t add(std::uint64_t weight = 1) {
    return count_->fetch_add(weight, std::memory_order_acq_rel) + weight;
  }
  std::uint64_t read() const { return count_->load(std::memory_order_acquire); }

 private:
  CacheAligned<typename M::template Atomic<std::uint64_t>> count_;
};

template <Memory M = RealMemory>
class ShardedCounter {
 public:
  // A cache line for each of `threads`. Throws Error(kInvalidArgument) for 0.
  explicit ShardedCounter(std::uint32_t threads) : shards_(threads) {
    if (threads == 0)
      throw Error(ErrorCode::kInvalidArgument, "ShardedCounter",
                  "there must be at least one shard");
  }

  // `thread` numbers the shard, modulo their number.
  void add(std::uint32_t thread, std::uint64_t weight = 1) {
    shards_[thread % shards_.size()]->fetch_add(weight,
                                                std::memory_order_acq_rel);
  }

  // Gives at least what had been added when it began, at most what has been
  // added when it ends.
  std::uint64_t read() const {
    std::uint64_t sum = 0;
    for (const auto& shard : shards_)
      sum += shard->load(std::memory_order_acquire);
    return sum;
  }

 private:
  std::vector<CacheAligned<typename M::template Atomic<std::uint64_t>>> shards_;
};

}  // namespace weft::concurrent
