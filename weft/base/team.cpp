#include "weft/base/team.h"

#include <thread>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

// So many looks take some microseconds: a step is over sooner, unless one that
// is waited for has no core.
constexpr int kSpins = 1 << 12;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

void SpinBarrier::meet(bool& sense) noexcept {
  sense = !sense;
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    // Nobody can be in the next round before the sense is set.
    missing_.store(count_, std::memory_order_relaxed);
    sense_.store(sense, std::memory_order_release);
    return;
  }
  for (int spins = 0; sense_.load(std::memory_order_acquire) != sense;) {
    if (++spins < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace weft
