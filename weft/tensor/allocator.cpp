#include "weft/tensor/allocator.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

#include "weft/base/error.h"
#include "weft/tensor/block_pool.h"

namespace weft {
namespace {

constexpr std::size_t kSmallest = 64;
// Blocks from 64 bytes to 64 KiB are recycled by sizes, four to a power of two,
// so that a fifth of a block is unused at most; larger ones by the pool, which
// keeps the peak of a process near what it uses.
constexpr int kStepBits = 2;
constexpr std::uint32_t kSteps = 1u << kStepBits;
constexpr std::uint32_t kClasses = 10 * kSteps + 1;
constexpr std::uint32_t kLarge = kClasses;
// The bound keeps a thread that only frees, as one that consumes what another
// makes, from collecting memory.
constexpr std::size_t kMostPerClass = 64;
// Pages of this size take a pass over a large block fewer walks through the
// page table, and fewer faults the first time. A block of two holds at least
// one whole page of data, whatever its length.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLeastOfHugePages = 2 * kHugePage;

std::atomic<std::int64_t> live{0};

// It is never destroyed, since tensors may outlive any static object.
BlockPool& pool() {
  static auto* const blocks = new BlockPool;
  return *blocks;
}

struct FreeList {
  std::array<Block*, kMostPerClass> blocks;
  std::size_t size = 0;
};

struct ThreadCache {
  std::array<FreeList, kClasses> lists{};
  ~ThreadCache() {
    for (auto& list : lists) {
      while (list.size > 0) free_block(list.blocks[--list.size]);
    }
    closed = true;
  }
  // Set when the thread's storage is gone but tensors outlive it.
  static thread_local bool closed;
};

thread_local bool ThreadCache::closed = false;
thread_local ThreadCache cache;

std::uint32_t class_of(std::size_t bytes) {
  if (bytes <= kSmallest) return 0;
  // The power of two below, and how many steps above it fit the request: so
  // does any block of the class.
  const int power = static_cast<int>(std::bit_width(bytes - 1)) - 1;
  const int step = power - kStepBits;
  const std::size_t above = bytes - (std::size_t{1} << power);
  const std::size_t steps = (above + (std::size_t{1} << step) - 1) >> step;
  const auto doublings =
      static_cast<std::uint32_t>(power - std::countr_zero(kSmallest));
  const std::uint32_t index =
      doublings * kSteps + static_cast<std::uint32_t>(steps);
  return index < kClasses ? index : kLarge;
}

std::size_t capacity_of(std::uint32_t size_class) {
  const std::size_t power = kSmallest << (size_class / kSteps);
  return power + power / kSteps * (size_class % kSteps);
}

void recycle(Block* block) {
  const auto bytes = static_cast<std::int64_t>(block->bytes);
  const std::int64_t rest =
      live.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
  if (block->size_class == kLarge) {
    if (pool().put(block, static_cast<std::size_t>(rest))) return;
  } else if (!ThreadCache::closed) {
    // It goes to the thread that frees it, which need not be the one that took
    // it: no lock is needed.
    FreeList& list = cache.lists[block->size_class];
    if (list.size < kMostPerClass) {
      list.blocks[list.size++] = block;
      return;
    }
  }
  free_block(block);
}

Block* system_block(std::size_t capacity) {
  static_assert(sizeof(Block) <= kAlignment);
  const std::size_t total =
      // The block's header takes one alignment's worth before the data, so both
      // come from one allocation.
      (capacity + 2 * kAlignment - 1) / kAlignment * kAlignment;
  const bool is_huge = total >= kLeastOfHugePages;
  // aligned_alloc() asks for a multiple of the alignment, which would waste up
  // to a huge page.
  void* memory = nullptr;
  if (posix_memalign(&memory, is_huge ? kHugePage : kAlignment, total) != 0) {
    throw Error(ErrorCode::kExhausted, "allocate",
                "the system refused {} bytes", capacity)
        .hint("a smaller batch needs less memory");
  }
  // A system that has no huge pages, or gives them unasked, refuses the advice:
  // the block is as good without.
  if (is_huge) madvise(memory, total, MADV_HUGEPAGE);
  return new (memory) Block;
}

// A block that was returned before and fits, or null.
Block* known_block(std::uint32_t size_class, std::size_t bytes) {
  if (size_class == kLarge) {
    const std::size_t held = static_cast<std::size_t>(live_bytes());
    return pool().take(bytes, held + bytes);
  }
  if (ThreadCache::closed || cache.lists[size_class].size == 0) return nullptr;
  FreeList& list = cache.lists[size_class];
  return list.blocks[--list.size];
}

}  // namespace

void free_block(Block* block) {
  // The header was made in place, so it ends by hand.
  block->~Block();
  std::free(block);
}

BlockRef allocate(std::size_t bytes) {
  const std::uint32_t size_class = class_of(bytes);
  Block* block = known_block(size_class, bytes);
  if (block != nullptr) {
    // Nobody else sees the block yet.
    block->references.store(1, std::memory_order_relaxed);
  } else {
    const std::size_t capacity =
        size_class == kLarge ? bytes : capacity_of(size_class);
    block = system_block(capacity);
    block->size_class = size_class;
    block->capacity = capacity;
    block->data = reinterpret_cast<std::byte*>(block) + kAlignment;
    block->release = recycle;
  }
  block->bytes = bytes;
  // What is counted are the bytes that were asked for; nothing is ordered by
  // the count.
  live.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  return BlockRef(block);
}

BlockRef wrap_foreign(void* data, std::size_t bytes, void* owner,
                      void (*release)(void* owner)) {
  // The pair rides behind the block's own owner field.
  struct Foreign {
    Block block;
    void (*release)(void*);
  };
  auto* foreign = new Foreign{};
  foreign->release = release;
  foreign->block.bytes = bytes;
  foreign->block.data = static_cast<std::byte*>(data);
  foreign->block.owner = owner;
  foreign->block.release = [](Block* block) {
    // The block is the first member, so both have one address.
    auto* self = reinterpret_cast<Foreign*>(block);
    self->release(block->owner);
    delete self;
  };
  return BlockRef(&foreign->block);
}

std::int64_t live_bytes() { return live.load(std::memory_order_relaxed); }

std::size_t pooled_bytes() { return pool().bytes(); }

}  // namespace weft
