// A vector that threads read and add to while others do.
//
// Each entry is read and written as a whole, in no order (relaxed); what is
// read is a view that may never have been in memory at one moment. Entries are
// reached through atomic references, so that the vector itself is plain memory
// and whoever has it alone may use it as such.
//
//   SharedVector<float> shared(x, UpdateKind::kHogwild);
//   shared.read(indices, view);
//   shared.add<UpdateKind::kHogwild>(indices, changes);
//
// Threads: all at once, where the kind says that several may. Who adds under
// kLocked or kRoundRobin must be alone: lock() is the lock of the former.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/sgd/update_kind.h"
#include "weft/concurrent/spin_lock.h"

namespace weft::concurrent {

template <class Number, Memory M = RealMemory>
class SharedVector {
 public:
  // `values` must outlive this.
  SharedVector(std::span<Number> values, UpdateKind kind)
      : values_(values),
        kind_(kind),
        stripes_(kind == UpdateKind::kStriped ? kStripes : 0) {}

  std::size_t size() const { return values_.size(); }
  UpdateKind kind() const { return kind_; }
  std::unique_lock<SpinLock<M>> lock() {
    return std::unique_lock<SpinLock<M>>(*lock_);
  }

  // The entries at `indices`, and those from `begin` on, as many as `view` has.
  void read(std::span<const std::uint32_t> indices,
            std::span<Number> view) const {
    for (std::size_t k = 0; k < indices.size(); ++k)
      view[k] = entry(indices[k]).load(std::memory_order_relaxed);
  }
  void read(std::size_t begin, std::span<Number> view) const {
    for (std::size_t k = 0; k < view.size(); ++k)
      view[k] = entry(begin + k).load(std::memory_order_relaxed);
  }

  // Adds a change to each of these entries; those of 0 are left alone.
  template <UpdateKind kKind>
  void add(std::span<const std::uint32_t> indices,
           std::span<const Number> changes) {
    add_all<kKind>(changes, [&](std::size_t k) { return indices[k]; });
  }
  template <UpdateKind kKind>
  void add(std::size_t begin, std::span<const Number> changes) {
    add_all<kKind>(changes, [&](std::size_t k) { return begin + k; });
  }

  // Makes `after` of the entries from `begin` on, which were `before` when they
  // were read: each becomes that where nobody has changed it since, and else
  // moves as far. Those whose two are equal are left alone.
  template <UpdateKind kKind>
  void replace(std::size_t begin, std::span<const Number> before,
               std::span<const Number> after) {
    change_all<kKind>(
        after.size(), [&](std::size_t k) { return begin + k; },
        [&](std::size_t k) { return after[k] != before[k]; },
        [&](std::size_t k) { move<kKind>(begin + k, before[k], after[k]); });
  }

 private:
  using Reference = typename M::template AtomicRef<Number>;

  // Entries of one cache line have one lock.
  static constexpr std::size_t kStripes = 1024;
  static constexpr std::size_t kStripeEntries = kCacheLine / sizeof(Number);

  Reference entry(std::size_t index) const { return Reference(values_[index]); }

  SpinLock<M>& stripe_of(std::size_t index) {
    return *stripes_[index / kStripeEntries % kStripes];
  }

  template <UpdateKind kKind>
  void change(std::size_t index, Number change) {
    if constexpr (kKind == UpdateKind::kSequential) {
      values_[index] += change;
    } else if constexpr (kKind == UpdateKind::kAtomic) {
      entry(index).fetch_add(change, std::memory_order_relaxed);
    } else {
      const Reference at = entry(index);
      at.store(at.load(std::memory_order_relaxed) + change,
               std::memory_order_relaxed);
    }
  }

  static Number moved(Number now, Number before, Number after) {
    return now == before ? after : now + (after - before);
  }

  template <UpdateKind kKind>
  void move(std::size_t index, Number before, Number after) {
    if constexpr (kKind == UpdateKind::kSequential) {
      values_[index] = moved(values_[index], before, after);
    } else if constexpr (kKind == UpdateKind::kAtomic) {
      const Reference at = entry(index);
      Number now = before;
      if (!at.compare_exchange_strong(now, after, std::memory_order_relaxed))
        at.fetch_add(after - before, std::memory_order_relaxed);
    } else {
      const Reference at = entry(index);
      at.store(moved(at.load(std::memory_order_relaxed), before, after),
               std::memory_order_relaxed);
    }
  }

  template <UpdateKind kKind, class IndexOf>
  void add_all(std::span<const Number> changes, const IndexOf& index_of) {
    change_all<kKind>(
        changes.size(), index_of,
        [&](std::size_t k) { return changes[k] != 0; },
        [&](std::size_t k) { change<kKind>(index_of(k), changes[k]); });
  }

  // Calls `apply` for each of `count` that changes.
  template <UpdateKind kKind, class IndexOf, class Changes, class Apply>
  void change_all(std::size_t count, const IndexOf& index_of,
                  const Changes& changes, const Apply& apply) {
    if constexpr (kKind == UpdateKind::kStriped) {
      return change_striped(count, index_of, changes, apply);
    } else {
      for (std::size_t k = 0; k < count; ++k)
        if (changes(k)) apply(k);
    }
  }

  // Indices ascend, so that a lock is taken once for all of its entries that
  // follow each other.
  template <class IndexOf, class Changes, class Apply>
  void change_striped(std::size_t count, const IndexOf& index_of,
                      const Changes& changes, const Apply& apply) {
    std::unique_lock<SpinLock<M>> held;
    for (std::size_t k = 0; k < count; ++k) {
      if (!changes(k)) continue;
      SpinLock<M>& stripe = stripe_of(index_of(k));
      if (held.mutex() != &stripe) {
        // One lock at a time, so that nobody waits in a circle.
        if (held.owns_lock()) held.unlock();
        held = std::unique_lock<SpinLock<M>>(stripe);
      }
      apply(k);
    }
  }

  std::span<Number> values_;
  UpdateKind kind_;
  CacheAligned<SpinLock<M>> lock_;
  std::vector<CacheAligned<SpinLock<M>>> stripes_;
};

// Calls body.template operator()<kKind>() for the kind at hand.
template <class Body>
decltype(auto) with_kind(UpdateKind kind, Body&& body) {
  switch (kind) {
    case UpdateKind::kSequential:
      return body.template operator()<UpdateKind::kSequential>();
    case UpdateKind::kLocked:
      return body.template operator()<UpdateKind::kLocked>();
    case UpdateKind::kStriped:
      return body.template operator()<UpdateKind::kStriped>();
    case UpdateKind::kRoundRobin:
      return body.template operator()<UpdateKind::kRoundRobin>();
    case UpdateKind::kHogwild:
      return body.template operator()<UpdateKind::kHogwild>();
    case UpdateKind::kAtomic:
      break;
  }
  return body.template operator()<UpdateKind::kAtomic>();
}

}  // namespace weft::concurrent
