// A lock of one word, test-and-test-and-set: it is read before it is written,
// so that those who wait share its cache line.
//
// Meets the standard's Lockable, for std::lock_guard and std::unique_lock.
#pragma once

#include <cstdint>

#include "weft/concurrent/backoff.h"
#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <Memory M = RealMemory>
class SpinLock {
 public:
  bool try_lock() {
    return word_.load(std::memory_order_relaxed) == 0 &&
           word_.exchange(1, std::memory_order_acquire) == 0;
  }

  void lock() {
    Backoff<M> wait;
    while (!try_lock()) wait();
  }

  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  typename M::template Atomic<std::uint32_t> word_{0};
};

}  // namespace weft::concurrent
