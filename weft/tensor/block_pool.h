// Large blocks that were given back, kept for the next tensor of about that
// size: memory that comes from the system anew is faulted in page by page,
// which takes longer than to write it.
//
// Threads: thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace weft {

struct Block;

class BlockPool {
 public:
  // A block with room for `bytes`, and not for much more; or null.
  Block* take(std::size_t bytes);
  // Takes the block, unless that would leave more memory unused than a process
  // that holds `live` bytes can spare.
  bool put(Block* block, std::size_t live);
  // The capacity of all blocks that are kept.
  std::size_t bytes() const;

 private:
  mutable std::mutex mutex_;
  std::multimap<std::size_t, Block*> blocks_;  // by capacity
  std::size_t bytes_ = 0;
};

}  // namespace weft
