// Large blocks that were given back, kept for the next tensor of about that
// size: memory that comes from the system anew is faulted in page by page,
// which takes longer than to write it.
//
// Threads: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace weft {

struct Block;

// Gives the memory of a block that nobody refers to back to the system.
void free_block(Block* block);

class BlockPool {
 public:
  // A block with room for `bytes`, and not for much more, of equal ones the
  // last that came; or null. `live` is what the process holds with these bytes.
  Block* take(std::size_t bytes, std::size_t live);
  // Takes the block, of a process that still holds `live` bytes, and gives the
  // longest unused ones back to the system where there are too many: what is
  // kept and what is held are no more than the process has held at once, or
  // little. A block that is itself too much is refused.
  bool put(Block* block, std::size_t live);
  // The capacity of all blocks that are kept.
  std::size_t bytes() const;

 private:
  struct Kept {
    Block* block;
    std::uint64_t order;  // in which they came
  };

  // How much may be kept beside `live` bytes.
  std::size_t spared(std::size_t live) const;
  void shrink_to(std::size_t bytes);

  mutable std::mutex mutex_;
  std::multimap<std::size_t, Kept> blocks_;  // by capacity
  std::uint64_t puts_ = 0;
  std::size_t bytes_ = 0;
  std::size_t peak_ = 0;  // of live bytes
};

}  // namespace weft
