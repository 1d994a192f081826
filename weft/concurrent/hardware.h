// Transactions that the processor carries out: what one reads and writes
// happens all at once, or not at all.
//
//   using Hardware = RealMemory::Hardware;
//   if (Hardware::is_available() &&
//       Hardware::attempt([&] { ++a; --b; }) == HardwareOutcome::kCommitted)
//     return;
//   …                             // the other way, which must always be there
//
// An attempt that fails leaves no trace: all memory, the caller's own variables
// too, is what it was before. It fails where another thread writes what it has
// used or uses what it has written, in a transaction or not; where it uses more
// than the first cache holds; at an interrupt, a system call, a page that is
// not there, of code or data; behind vectors of 256 bits, at the next call or
// return; and by abort(). Nothing promises that any attempt succeeds.
//
// Nothing inconsistent is ever seen inside: a transaction ends before a word
// reaches it that does not fit to those that it has read.
//
// This is Intel's RTM, by its instructions: the program runs on any x86-64, and
// is_available() says whether the processor has them. A Memory without a type
// Hardware (memory.h) has no such transactions, and so have other processors,
// and builds for the thread sanitizer, which cannot look inside.
//
// Threads: all at once.
#pragma once

#include <concepts>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define WEFT_HARDWARE_IS_WATCHED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_HARDWARE_IS_WATCHED
#endif
#endif
#if defined(__x86_64__) && !defined(WEFT_HARDWARE_IS_WATCHED)
#define WEFT_HAS_RTM
#endif

namespace weft::concurrent {

enum class HardwareOutcome : std::uint8_t {
  kCommitted,
  kInterfered,  // another thread did: the next attempt may succeed
  kCannot,      // nor, most likely, can the next attempt
  kThrown,      // the body threw; nothing is left of that, either
  kLocked,      // abort(): a lock was held
  kAlone,       // abort(): somebody has the right to run alone
};

// What a Memory's Hardware offers. All but is_available() only where that is
// true, and abort() only inside.
template <class H>
concept HardwareTransactions = requires {
  { H::is_available() } -> std::same_as<bool>;
  { H::is_inside() } -> std::same_as<bool>;
  {
    H::attempt([] {})
    } -> std::same_as<HardwareOutcome>;
  H::template abort<HardwareOutcome::kLocked>();
};

// Whether a Memory has one.
template <class M>
concept HasHardware = HardwareTransactions<typename M::Hardware>;

#ifdef WEFT_HAS_RTM

struct Rtm {
  static bool is_available() noexcept;

  static bool is_inside() noexcept {
    bool result = false;
    asm volatile("xtest" : "=@ccnz"(result)::"memory");
    return result;
  }

  // After an abort the processor goes on behind xbegin, with its registers as
  // they were there but for the status.
  template <class Body>
  static HardwareOutcome attempt(Body body) {
#ifdef __AVX__
    // Compilers put this instruction before calls if there may be something in
    // the upper halves, and it ends a transaction (seen on Sapphire Rapids).
    __builtin_ia32_vzeroupper();
#endif
    std::uint32_t status = kStarted;
    asm volatile("xbegin 1f\n1:" : "+a"(status)::"memory");
    if (status != kStarted) return outcome_of(status);
    try {
      body();
    } catch (...) {
      abort<HardwareOutcome::kThrown>();
    }
    asm volatile("xend" ::: "memory");
    return HardwareOutcome::kCommitted;
  }

  template <HardwareOutcome kWhy>
  [[noreturn]] static void abort() noexcept {
    asm volatile("xabort %0" ::"i"(static_cast<int>(kWhy)) : "memory");
    __builtin_trap();
  }

 private:
  // Intel, "Software Developer's Manual", volume 1, 16.3.5.
  static constexpr std::uint32_t kStarted = ~0U;
  static constexpr std::uint32_t kWasAborted = 1U << 0U;
  static constexpr std::uint32_t kMaySucceed = 1U << 1U;

  static HardwareOutcome outcome_of(std::uint32_t status) {
    if ((status & kWasAborted) != 0)
      return static_cast<HardwareOutcome>(status >> 24U);
    return (status & kMaySucceed) != 0 ? HardwareOutcome::kInterfered
                                       : HardwareOutcome::kCannot;
  }
};

static_assert(HardwareTransactions<Rtm>);

#endif

}  // namespace weft::concurrent
