// How the calling thread treats subnormal numbers: as IEEE 754 has it, or as
// zeros, both where they are read and where they would be a result.
//
//   const FloatModeScope flushing(flushing_subnormals());
//   optimizer_step();
//
// Intel's processors take about a hundred cycles longer for each operation that
// meets one, which is what rows of a table come to that decay and are not seen.
// The threads of parallel_for, of run_team and of a tagged run compute in their
// caller's mode; a fiber has a mode of its own.
//
// Where the instruction set has no such mode, as in a browser, all is as IEEE
// 754 has it.
//
// Threads: each has its own. Cost: some ten cycles where a scope changes
// something.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace weft {

// The rounding, the masks of exceptions and the treatment of subnormals, as the
// MXCSR register holds them, without the flags that operations leave there.
struct FloatMode {
  unsigned int bits = 0;
  bool operator==(const FloatMode&) const = default;
};

namespace detail {
inline constexpr unsigned int kFloatFlags = 0x3f;
inline constexpr unsigned int kFlushSubnormals = 0x8040;  // results, operands
}  // namespace detail

// That of the calling thread.
inline FloatMode float_mode() {
#if defined(__SSE2__)
  return {_mm_getcsr() & ~detail::kFloatFlags};
#else
  return {};
#endif
}

inline void set_float_mode(FloatMode mode) {
#if defined(__SSE2__)
  _mm_setcsr((_mm_getcsr() & detail::kFloatFlags) | mode.bits);
#else
  static_cast<void>(mode);
#endif
}

// That of the calling thread, but for subnormals, which are zeros.
inline FloatMode flushing_subnormals() {
#if defined(__SSE2__)
  return {float_mode().bits | detail::kFlushSubnormals};
#else
  return {};
#endif
}

class FloatModeScope {
 public:
  explicit FloatModeScope(FloatMode mode) : before_(float_mode()) {
    if (mode != before_) set_float_mode(mode);
  }
  ~FloatModeScope() {
    if (float_mode() != before_) set_float_mode(before_);
  }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  FloatMode before_;
};

}  // namespace weft
