// The MultiQueue: q sequential heaps, each behind a lock that nobody waits for.
// A push goes to one of two queues drawn at random, a pop takes the better of
// the two first entries. The choice between two keeps the expected rank of what
// is popped at O(q) for ever, where one queue drawn at random would let it grow
// with the square root of the number of operations.
//
//   MultiQueue<std::uint64_t, Job*> queue({.queues = 4 * threads});
//   auto handle = queue.handle(thread);
//   handle.push({.key = deadline, .value = job});
//   while (const auto entry = handle.pop()) run(entry->value);
//
// With one queue it is exact. With two and one thread it is too.
//
// Errors: Error(kInvalidArgument) for options that make no queue, and for
// threads that have no place in it. push() may throw std::bad_alloc, and has
// then pushed nothing and holds no lock. The largest value of Key stands for
// "empty" and must not be pushed.
// Threads: see relaxed_queue.h. No operation waits for one lock; a preempted
// holder stops nobody, unless it is the only queue's.
//
// Source: Rihani, Sanders, Dementiev, "MultiQueues: simple relaxed concurrent
// priority queues", SPAA 2015; buffers, arity and stickiness from Williams,
// Sanders, Dementiev, "Engineering MultiQueues", ESA 2021; the rank error from
// Alistarh, Kopinsky, Li, Nadiradze, "The power of choice in priority
// scheduling", PODC 2017.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "weft/base/error.h"
#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/queue/buffered_heap.h"
#include "weft/concurrent/queue/queue_pair.h"
#include "weft/concurrent/queue/relaxed_queue.h"
#include "weft/concurrent/random.h"
#include "weft/concurrent/spin_lock.h"

namespace weft::concurrent {

struct MultiQueueOptions {
  int queues = 4;        // two to four per thread
  int threads = 1;       // only OwnedPair asks
  int stickiness = 16;   // operations for which a thread keeps its two queues
  int choices = 2;       // 1 is the control without the power of choice
  bool recheck = false;  // redraw where another thread took what was seen
  std::uint64_t seed = 1;
};

template <class Key, class Value = Nothing, Memory M = RealMemory,
          class Pair = RandomPair<M>>
class MultiQueue {
 public:
  using Entry = concurrent::Entry<Key, Value>;
  using MemoryType = M;
  class Handle;

  explicit MultiQueue(const MultiQueueOptions& options)
      : options_(checked(options)),
        pairs_(options.queues),
        slots_(std::make_unique<Slot[]>(
            static_cast<std::size_t>(options.queues))) {}

  // `thread` numbers the caller: 0, 1, …; below options.threads where threads
  // own their queues.
  Handle handle(int thread) {
    const bool is_owner = Pair::kQueuesPerThread > 0;
    if (thread < 0 || (is_owner && thread >= options_.threads)) {
      throw Error(ErrorCode::kInvalidArgument, "MultiQueue",
                  "a handle of thread {}, where there are {}", thread,
                  options_.threads)
          .hint("threads are numbered from 0");
    }
    return Handle(*this, thread);
  }

  // Exact while nobody pushes or pops.
  std::size_t size() const {
    std::size_t entries = 0;
    for (int i = 0; i < options_.queues; ++i)
      entries += slots_[static_cast<std::size_t>(i)].heap.size();
    return entries;
  }

 private:
  static constexpr Key kEmpty = std::numeric_limits<Key>::max();

  struct alignas(kCacheLine) Slot {
    // What others see without the lock; may be out of date by the time one has
    // it. Written with the lock held.
    typename M::template Atomic<Key> first_key{kEmpty};
    SpinLock<M> lock;
    BufferedHeap<Entry, M> heap;

    // Relaxed: it is a hint, and what is done is decided under the lock.
    void publish() {
      first_key.store(heap.empty() ? kEmpty : heap.top().key,
                      std::memory_order_relaxed);
    }

    // Needs the lock, and an entry to take.
    Entry take() {
      const Entry entry = heap.pop();
      publish();
      return entry;
    }
  };

  static MultiQueueOptions checked(MultiQueueOptions options) {
    const auto refuse = [](const char* what, int value) {
      return Error(ErrorCode::kInvalidArgument, "MultiQueue", "{} is {}", what,
                   value);
    };
    if (options.queues < 1)
      throw refuse("queues", options.queues).hint("at least 1");
    if (options.stickiness < 1)
      throw refuse("stickiness", options.stickiness).hint("at least 1");
    if (options.choices < 1 || options.choices > 2)
      throw refuse("choices", options.choices).hint("1 or 2");
    if (Pair::kQueuesPerThread * options.threads > options.queues)
      throw refuse("queues", options.queues)
          .hint("threads that own a pair of queues need two queues each");
    return options;
  }

  MultiQueueOptions options_;
  typename Pair::Shared pairs_;
  std::unique_ptr<Slot[]> slots_;
};

template <class Key, class Value, Memory M, class Pair>
class MultiQueue<Key, Value, M, Pair>::Handle {
 public:
  void push(const Entry& entry) {
    WEFT_CHECK(entry.key < kEmpty, "the largest key stands for an empty queue");
    Backoff<M> wait;
    for (int failures = 1;; ++failures) {
      Slot& slot =
          queue_.slots_[random_() >> 63U ? pair_.first() : pair_.second()];
      if (slot.lock.try_lock()) {
        const std::lock_guard lock(slot.lock, std::adopt_lock);
        slot.heap.push(entry);
        slot.publish();
        break;
      }
      pair_.redraw(random_);
      // A lock that is taken is no reason to wait while there are other queues.
      if (failures % queue_.options_.queues == 0) wait();
    }
    pair_.used(random_);
  }

  std::optional<Entry> pop() {
    for (int tries = 0; tries < queue_.options_.queues; ++tries) {
      Slot& slot = better_slot();
      const Key seen = slot.first_key.load(std::memory_order_relaxed);
      // The better of the two is empty, and so are both: whether all are, only
      // a look at all can tell.
      if (seen == kEmpty) break;
      if (slot.lock.try_lock()) {
        const std::lock_guard lock(slot.lock, std::adopt_lock);
        // Another thread may have emptied it between the look and the lock.
        if (is_as_seen(slot, seen)) {
          pair_.used(random_);
          return slot.take();
        }
      }
      pair_.redraw(random_);
    }
    pair_.redraw(random_);
    return scan();
  }

 private:
  friend class MultiQueue;

  Handle(MultiQueue& queue, int thread)
      : queue_(queue),
        random_(queue.options_.seed, static_cast<std::uint64_t>(thread)),
        pair_(queue.pairs_, queue.options_.queues, queue.options_.stickiness,
              thread, random_) {}

  Slot& better_slot() {
    Slot& first = queue_.slots_[pair_.first()];
    if (queue_.options_.choices == 1) return first;
    Slot& second = queue_.slots_[pair_.second()];
    return second.first_key.load(std::memory_order_relaxed) <
                   first.first_key.load(std::memory_order_relaxed)
               ? second
               : first;
  }

  bool is_as_seen(const Slot& slot, Key seen) const {
    if (slot.heap.empty()) return false;
    return !queue_.options_.recheck || !(seen < slot.heap.top().key);
  }

  // One look at every queue, from a random one on, before "nothing found".
  std::optional<Entry> scan() {
    const auto queues = static_cast<std::uint32_t>(queue_.options_.queues);
    const std::uint32_t start = random_.below(queues);
    for (std::uint32_t i = 0; i < queues; ++i) {
      Slot& slot = queue_.slots_[(start + i) % queues];
      if (slot.first_key.load(std::memory_order_relaxed) == kEmpty) continue;
      if (!slot.lock.try_lock()) continue;
      const std::lock_guard lock(slot.lock, std::adopt_lock);
      if (!slot.heap.empty()) return slot.take();
    }
    return std::nullopt;
  }

  MultiQueue& queue_;
  FastRandom random_;
  Pair pair_;
};

}  // namespace weft::concurrent
