#include "weft/tensor/block_pool.h"

#include <algorithm>
#include <iterator>

#include "weft/tensor/allocator.h"

namespace weft {
namespace {

// A program that has never held much may still leave so much unused.
constexpr std::size_t kAlwaysSpared = std::size_t{64} << 20;

}  // namespace

Block* BlockPool::take(std::size_t bytes, std::size_t live) {
  const std::lock_guard lock(mutex_);
  peak_ = std::max(peak_, live);
  auto found = blocks_.lower_bound(bytes);
  // More than an eighth above would waste the block on a smaller tensor.
  if (found == blocks_.end() || found->first > bytes + bytes / 8) {
    // The system has to give a new one, so that old ones may be too many.
    shrink_to(spared(live));
    return nullptr;
  }
  // Where several have this capacity, the last that came is in the caches, if
  // any is.
  found = std::prev(blocks_.upper_bound(found->first));
  Block* block = found->second.block;
  bytes_ -= block->capacity;
  blocks_.erase(found);
  return block;
}

bool BlockPool::put(Block* block, std::size_t live) {
  const std::lock_guard lock(mutex_);
  const std::size_t most = spared(live);
  if (block->capacity > most) return false;
  shrink_to(most - block->capacity);
  bytes_ += block->capacity;
  blocks_.emplace(block->capacity, Kept{block, puts_++});
  return true;
}

std::size_t BlockPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t BlockPool::spared(std::size_t live) const {
  return std::max(kAlwaysSpared, peak_ - std::min(peak_, live));
}

void BlockPool::shrink_to(std::size_t bytes) {
  while (bytes_ > bytes) {
    // Blocks are few, as all are large.
    const auto oldest = std::min_element(
        blocks_.begin(), blocks_.end(), [](const auto& a, const auto& b) {
          return a.second.order < b.second.order;
        });
    bytes_ -= oldest->first;
    free_block(oldest->second.block);
    blocks_.erase(oldest);
  }
}

}  // namespace weft
