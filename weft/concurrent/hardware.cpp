#include "weft/concurrent/hardware.h"

#ifdef WEFT_HAS_RTM

#include <cpuid.h>

namespace weft::concurrent {

// Leaf 7: EBX names RTM; EDX says that it has been switched off, so that every
// attempt would fail.
bool Rtm::is_available() noexcept {
  static const bool result = [] {
    constexpr unsigned kRtm = 1U << 11U;
    constexpr unsigned kAlwaysAborts = 1U << 11U;
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
           (ebx & kRtm) != 0 && (edx & kAlwaysAborts) == 0;
  }();
  return result;
}

}  // namespace weft::concurrent

#endif
