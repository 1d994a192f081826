// Real memory that calls a test back before each compare-exchange and before
// each load, so that a test can put another thread's steps just there.
#pragma once

#include <atomic>
#include <functional>

#include "weft/concurrent/memory.h"

namespace weft::concurrent {

struct HookedMemory : RealMemory {
  // Called with the address; taken away meanwhile, so hooks do not nest.
  static inline std::function<void(const void*)> before_load;
  static inline std::function<void(const void*)> before_exchange;

  template <class T>
  class Atomic : public std::atomic<T> {
   public:
    using std::atomic<T>::atomic;

    T load(std::memory_order order = std::memory_order_seq_cst) const {
      call(before_load, this);
      return std::atomic<T>::load(order);
    }
    bool compare_exchange_strong(
        T& expected, T desired,
        std::memory_order order = std::memory_order_seq_cst) {
      call(before_exchange, this);
      return std::atomic<T>::compare_exchange_strong(expected, desired, order);
    }
    bool compare_exchange_strong(T&& expected, T desired) {
      return compare_exchange_strong(expected, desired);
    }
  };

 private:
  static void call(std::function<void(const void*)>& hook,
                   const void* address) {
    if (!hook) return;
    const auto taken = std::exchange(hook, nullptr);
    taken(address);
    if (!hook) hook = taken;
  }
};

}  // namespace weft::concurrent
