// Memory for tensors: 64-byte aligned blocks with an intrusive reference
// count, recycled through per-thread free lists by size class, so that a
// small eager result costs a pop instead of a call to malloc; and large ones
// through a pool (block_pool.h), so that their pages are not faulted in anew.
// Blocks of 4 MiB and more lie in huge pages, where the system has them.
//
// Threads: thread-safe; a block may be released on any thread.
// Errors:  Error(kExhausted) when the system refuses memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft {

inline constexpr std::size_t kAlignment = 64;

// A counted block. `data` starts kAlignment bytes after the header, or
// elsewhere for memory that somebody else owns.
struct Block {
  std::atomic<std::int32_t> references{1};
  std::uint32_t size_class = 0;
  std::size_t bytes = 0;     // that were asked for
  std::size_t capacity = 0;  // that there is room for
  std::byte* data = nullptr;
  void (*release)(Block*) = nullptr;  // what to do at zero references
  void* owner = nullptr;              // for foreign memory
};

// Intrusive pointer to a Block.
class BlockRef {
 public:
  BlockRef() = default;
  explicit BlockRef(Block* block) : block_(block) {}  // takes the reference
  BlockRef(const BlockRef& other) : block_(other.block_) { retain(); }
  BlockRef(BlockRef&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef() { drop(); }

  Block* get() const { return block_; }
  Block* operator->() const { return block_; }
  explicit operator bool() const { return block_ != nullptr; }
  // True when nobody else can see the bytes: they may be overwritten. The
  // owner of foreign memory always can.
  bool is_unique() const {
    return block_ && block_->owner == nullptr &&
           block_->references.load(std::memory_order_acquire) == 1;
  }

 private:
  void retain() const {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  void drop() {
    if (block_ &&
        block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      block_->release(block_);
    }
  }

  Block* block_ = nullptr;
};

// Uninitialised memory of at least `bytes`.
BlockRef allocate(std::size_t bytes);

// Wraps memory owned elsewhere; calls release(owner) when the last reference
// goes. `data` must stay valid until then.
BlockRef wrap_foreign(void* data, std::size_t bytes, void* owner,
                      void (*release)(void* owner));

// Bytes of blocks that were handed out and not returned yet.
std::int64_t live_bytes();
// Those of large blocks that were returned and are kept for the next tensor.
std::size_t pooled_bytes();

}  // namespace weft
