// Tells the address and thread sanitizers of switches between stacks, which
// they cannot see by themselves; nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_FIBER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_FIBER_ASAN
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_FIBER_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_FIBER_TSAN
#endif
#endif

#ifdef WEFT_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WEFT_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace weft {

#if defined(WEFT_FIBER_ASAN)

class SanitizerFiber {
 public:
  SanitizerFiber(const void* bottom, std::size_t bytes)
      : bottom_(bottom), bytes_(bytes) {}
  // The memory may be given to somebody else, as a file that is mapped.
  ~SanitizerFiber() { forget_frames(); }
  SanitizerFiber(const SanitizerFiber&) = delete;
  SanitizerFiber& operator=(const SanitizerFiber&) = delete;

  void restart() {
    forget_frames();
    inside_ = nullptr;
  }
  void enter() { __sanitizer_start_switch_fiber(&host_, bottom_, bytes_); }
  void returned() { __sanitizer_finish_switch_fiber(host_, nullptr, nullptr); }
  void entered() {
    __sanitizer_finish_switch_fiber(inside_, &host_bottom_, &host_bytes_);
  }
  void leave() {
    __sanitizer_start_switch_fiber(&inside_, host_bottom_, host_bytes_);
  }
  void leave_for_good() {
    __sanitizer_start_switch_fiber(nullptr, host_bottom_, host_bytes_);
  }

 private:
  // What a body that was given up left poisoned is no frame any more.
  void forget_frames() { ASAN_UNPOISON_MEMORY_REGION(bottom_, bytes_); }

  const void* bottom_;
  std::size_t bytes_;
  void* inside_ = nullptr;
  void* host_ = nullptr;
  const void* host_bottom_ = nullptr;
  std::size_t host_bytes_ = 0;
};

#elif defined(WEFT_FIBER_TSAN)

class SanitizerFiber {
 public:
  SanitizerFiber(const void* /*bottom*/, std::size_t /*bytes*/) {}
  ~SanitizerFiber() {
    if (fiber_) __tsan_destroy_fiber(fiber_);
  }
  SanitizerFiber(const SanitizerFiber&) = delete;
  SanitizerFiber& operator=(const SanitizerFiber&) = delete;

  void restart() {
    if (fiber_) __tsan_destroy_fiber(fiber_);
    fiber_ = __tsan_create_fiber(0);
  }
  void enter() {
    host_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber_, 0);
  }
  void returned() {}
  void entered() {}
  void leave() { __tsan_switch_to_fiber(host_, 0); }
  void leave_for_good() { leave(); }

 private:
  void* fiber_ = nullptr;
  void* host_ = nullptr;
};

#else

class SanitizerFiber {
 public:
  SanitizerFiber(const void* /*bottom*/, std::size_t /*bytes*/) {}
  void restart() {}
  void enter() {}
  void returned() {}
  void entered() {}
  void leave() {}
  void leave_for_good() {}
};

#endif

}  // namespace weft
