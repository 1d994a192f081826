// One sequential queue behind one lock: the plain way to share a queue, and
// the rival of every other.
//
// `Order` says what comes next. ExactHeap is a binary heap, as in
// std::priority_queue. UniformTopK returns each of the first k entries with the
// same probability, the canonical k-relaxed scheduler of the proofs.
//
// Threads: see relaxed_queue.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/queue/relaxed_queue.h"
#include "weft/concurrent/random.h"
#include "weft/concurrent/spin_lock.h"

namespace weft::concurrent {

template <class Key, class Value, Memory M>
class ExactHeap {
 public:
  using Entry = concurrent::Entry<Key, Value>;
  using MemoryType = M;

  bool empty() const { return heap_.empty(); }

  void push(const Entry& entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), comes_later);
    touch_path();
  }

  // There must be one.
  Entry pop() {
    touch_path();
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    const Entry first = heap_.back();
    heap_.pop_back();
    return first;
  }

  const Entry& top() const { return heap_.front(); }

 private:
  static bool comes_later(const Entry& a, const Entry& b) {
    return b.key < a.key;
  }

  // The line of each level that an operation walks through.
  void touch_path() const {
    for (std::size_t node = heap_.size(); node != 0; node /= 2)
      M::touch(&heap_[node - 1], sizeof(Entry), Access::kWrite);
  }

  std::vector<Entry> heap_;
};

// Invariant: the window holds the first k entries, sorted, or all there are.
template <class Key, class Value, Memory M>
class UniformTopK {
 public:
  using Entry = concurrent::Entry<Key, Value>;
  using MemoryType = M;

  // Throws Error(kInvalidArgument) unless k is at least 1.
  UniformTopK(int k, std::uint64_t seed)
      : k_(static_cast<std::size_t>(k)), random_(seed, 0) {
    if (k < 1)
      throw Error(ErrorCode::kInvalidArgument, "UniformTopK", "k is {}", k)
          .hint("at least 1, which is an exact queue");
    window_.reserve(k_ + 1);
  }

  bool empty() const { return window_.empty(); }

  void push(const Entry& entry) {
    // What does not come before the last of the first k entries is not one of
    // them.
    if (window_.size() == k_ && !(entry.key < window_.back().key))
      return rest_.push(entry);
    if (window_.size() == k_) {
      rest_.push(window_.back());
      window_.pop_back();
    }
    const auto place = std::upper_bound(
        window_.begin(), window_.end(), entry,
        [](const Entry& a, const Entry& b) { return a.key < b.key; });
    window_.insert(place, entry);
  }

  // There must be one.
  Entry pop() {
    const auto drawn =
        window_.begin() +
        random_.below(static_cast<std::uint32_t>(window_.size()));
    const Entry entry = *drawn;
    window_.erase(drawn);
    if (!rest_.empty()) window_.push_back(rest_.pop());
    return entry;
  }

 private:
  std::size_t k_;
  FastRandom random_;
  std::vector<Entry> window_;
  ExactHeap<Key, Value, M> rest_;
};

template <class Order, class Lock = SpinLock<typename Order::MemoryType>>
class LockedQueue {
 public:
  using Entry = typename Order::Entry;
  using MemoryType = typename Order::MemoryType;

  class Handle {
   public:
    void push(const Entry& entry) {
      const std::lock_guard lock(queue_.lock_);
      queue_.order_.push(entry);
    }

    std::optional<Entry> pop() {
      const std::lock_guard lock(queue_.lock_);
      if (queue_.order_.empty()) return std::nullopt;
      return queue_.order_.pop();
    }

   private:
    friend class LockedQueue;
    explicit Handle(LockedQueue& queue) : queue_(queue) {}
    LockedQueue& queue_;
  };

  explicit LockedQueue(Order order = Order()) : order_(std::move(order)) {}

  Handle handle(int /*thread*/) { return Handle(*this); }

 private:
  Lock lock_;
  Order order_;
};

// The exact queue, and the scheduler whose relaxation is known.
template <class Key, class Value = Nothing, Memory M = RealMemory>
using LockedHeap = LockedQueue<ExactHeap<Key, Value, M>>;
template <class Key, class Value = Nothing, Memory M = RealMemory>
using UniformQueue = LockedQueue<UniformTopK<Key, Value, M>>;

}  // namespace weft::concurrent
