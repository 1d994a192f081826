// Which ranks of a run compute, and which hold parameters for them.
//
// Without servers of their own ([sync] servers = 0) all ranks compute, and a
// policy with servers spreads these over them. With some, the last ranks serve
// and compute nothing: they go through the same steps as workers without
// examples.
//
// Threads: a value type.
#pragma once

#include <cstdint>
#include <string>

#include "weft/data/batch_source.h"

namespace weft {

class Roles {
 public:
  // `servers` < `ranks`, as check_ranks() has seen to.
  Roles(int ranks, std::int64_t servers)
      : ranks_(ranks), servers_(static_cast<int>(servers)) {}

  // Those that compute are the first of all.
  int workers() const { return ranks_ - servers_; }
  int servers() const { return servers_; }
  bool is_worker(int rank) const { return rank < workers(); }
  // Who holds a bucket: each in turn, so that the load differs by one.
  int owner_of(std::uint32_t bucket) const {
    const int number = static_cast<int>(bucket);
    return servers_ == 0 ? number % ranks_ : workers() + number % servers_;
  }
  // ", on 2 ranks of their own"; empty where workers serve.
  std::string text() const {
    return servers_ == 0 ? ""
                         : fmt::format(", on {} rank{} of their own", servers_,
                                       servers_ == 1 ? "" : "s");
  }
  // A server's is that of the first worker, of which it takes no example.
  Shard shard_of(int rank) const {
    return {is_worker(rank) ? rank : 0, workers()};
  }

 private:
  int ranks_;
  int servers_;
};

}  // namespace weft
