// How to wait for another thread: spin for twice as long each time, then give
// the core away, since the other may be waiting for it.
#pragma once

#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <Memory M>
class Backoff {
 public:
  void operator()() {
    if (spins_ > kMostSpins) return M::yield();
    for (int i = 0; i < spins_; ++i) M::pause();
    spins_ *= 2;
  }

  void reset() { spins_ = 1; }

 private:
  static constexpr int kMostSpins = 64;  // some microseconds in all
  int spins_ = 1;
};

}  // namespace weft::concurrent
