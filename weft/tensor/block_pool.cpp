#include "weft/tensor/block_pool.h"

#include <algorithm>

#include "weft/tensor/allocator.h"

namespace weft {
namespace {

// A program that works on small tensors may leave so much unused, and one that
// works on large ones half of what it uses: enough for a temporary beside two
// operands.
constexpr std::size_t kAlwaysSpared = std::size_t{64} << 20;

std::size_t spared(std::size_t live) {
  return std::max(kAlwaysSpared, live / 2);
}

}  // namespace

Block* BlockPool::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.lower_bound(bytes);
  // More than an eighth above would waste the block on a smaller tensor.
  if (found == blocks_.end() || found->first > bytes + bytes / 8) {
    return nullptr;
  }
  Block* block = found->second;
  bytes_ -= block->capacity;
  blocks_.erase(found);
  return block;
}

bool BlockPool::put(Block* block, std::size_t live) {
  const std::lock_guard lock(mutex_);
  if (bytes_ + block->capacity > spared(live)) return false;
  bytes_ += block->capacity;
  blocks_.emplace(block->capacity, block);
  return true;
}

std::size_t BlockPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace weft
