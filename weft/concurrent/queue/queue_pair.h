// Which two queues of a MultiQueue a thread looks at, and for how long it stays
// with them. To stay is faster, as their lines remain in the thread's cache;
// the price is a larger rank error.
//
// Threads: one pair per thread; what is in Shared is for all of them.
// Source: Williams, Sanders, Dementiev, "Engineering MultiQueues", ESA 2021.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/random.h"

namespace weft::concurrent {

// Two different queues, drawn uniformly, for `stickiness` operations.
template <Memory M>
class RandomPair {
 public:
  static constexpr int kQueuesPerThread = 0;  // any number will do

  struct Shared {
    explicit Shared(int /*queues*/) {}
  };

  RandomPair(Shared& /*shared*/, int queues, int stickiness, int /*thread*/,
             FastRandom& random)
      : queues_(static_cast<std::uint32_t>(queues)), stickiness_(stickiness) {
    redraw(random);
  }

  std::uint32_t first() const { return first_; }
  std::uint32_t second() const { return second_; }

  // Must be called after each operation.
  void used(FastRandom& random) {
    if (--left_ == 0) redraw(random);
  }

  void redraw(FastRandom& random) {
    left_ = stickiness_;
    if (queues_ == 1) return;
    first_ = random.below(queues_);
    second_ = random.below(queues_ - 1);
    // The second is drawn from one less, and moved past the first: two
    // different ones, all pairs alike.
    if (second_ >= first_) ++second_;
  }

 private:
  std::uint32_t queues_;
  int stickiness_;
  std::uint32_t first_ = 0;
  std::uint32_t second_ = 0;
  int left_ = 0;
};

// Two queues that no other thread works on at the moment: thread t owns places
// 2t and 2t + 1 of a shared permutation, and to redraw is to swap an own place
// with a random one. Needs two queues per thread at least.
template <Memory M>
class OwnedPair {
 public:
  static constexpr int kQueuesPerThread = 2;

  class Shared {
   public:
    explicit Shared(int queues)
        : places_(std::make_unique<CacheAligned<Place>[]>(
              static_cast<std::size_t>(queues))) {
      for (int i = 0; i < queues; ++i)
        places_[static_cast<std::size_t>(i)]->store(
            static_cast<std::uint32_t>(i), std::memory_order_relaxed);
    }

    std::uint32_t at(std::uint32_t place) const {
      return places_[place]->load(std::memory_order_relaxed);
    }

    // Swaps what stands at the place `own` of the caller for what stands at
    // another.
    void swap(std::uint32_t own, std::uint32_t places, FastRandom& random) {
      // The own place is emptied first, so that no queue ever stands at two
      // places. Orders are relaxed: places only say who should look where, and
      // the locks of the queues keep the entries in order.
      const std::uint32_t queue =
          places_[own]->exchange(kMoving, std::memory_order_relaxed);
      std::uint32_t found = queue;
      for (int tries = 0; tries < kMostTries; ++tries) {
        const std::uint32_t other = random.below(places);
        std::uint32_t there = at(other);
        if (there == kMoving) continue;
        if (places_[other]->compare_exchange_strong(
                there, queue, std::memory_order_relaxed)) {
          found = there;
          break;
        }
      }
      places_[own]->store(found, std::memory_order_relaxed);
    }

   private:
    using Place = typename M::template Atomic<std::uint32_t>;
    static constexpr std::uint32_t kMoving = ~std::uint32_t{0};
    static constexpr int kMostTries = 4;  // then one keeps what one has

    std::unique_ptr<CacheAligned<Place>[]> places_;
  };

  OwnedPair(Shared& shared, int queues, int stickiness, int thread,
            FastRandom& /*random*/)
      : shared_(shared),
        queues_(static_cast<std::uint32_t>(queues)),
        stickiness_(stickiness),
        place_(2 * static_cast<std::uint32_t>(thread)),
        left_(stickiness) {}

  // Another thread may have swapped for it: the place says, not a copy.
  std::uint32_t first() const { return shared_.at(place_); }
  std::uint32_t second() const { return shared_.at(place_ + 1); }

  void used(FastRandom& random) {
    if (--left_ == 0) redraw(random);
  }

  void redraw(FastRandom& random) {
    left_ = stickiness_;
    shared_.swap(place_, queues_, random);
    shared_.swap(place_ + 1, queues_, random);
  }

 private:
  Shared& shared_;
  std::uint32_t queues_;
  int stickiness_;
  std::uint32_t place_;
  int left_;
};

}  // namespace weft::concurrent
