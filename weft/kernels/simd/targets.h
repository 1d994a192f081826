// Vector code for more than one instruction set, chosen when the program runs.
//
// A source of vector code is compiled once per target by Highway:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "weft/kernels/simd/pick.cpp"  // itself
//   #include <hwy/foreach_target.h>
//   …
//   HWY_BEFORE_NAMESPACE();
//   namespace weft::HWY_NAMESPACE {
//   namespace {
//   void add_kernels(KernelRegistry& kernels) { … }
//   }  // namespace
//   }  // namespace weft::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace weft {
//   void register_cpu_softmax(KernelRegistry& kernels) {
//     WEFT_FOR_MACHINE(add_kernels)(kernels);
//   }
//   }  // namespace weft
//   #endif
//
// So functions of one name exist for each target, and whoever registers
// kernels, or calls, takes those of the machine. Targets are AVX2, which the
// whole library is compiled for, and AVX-512: more would only cost time to
// compile. What a header says outside of HWY_BEFORE_NAMESPACE is compiled for
// AVX2, so that no copy of it that the linker picks can hold instructions
// which the machine lacks.

// Outside of the guard: the next target's macros begin here.
#include <hwy/highway.h>

#ifndef WEFT_KERNELS_SIMD_TARGETS_H_
#define WEFT_KERNELS_SIMD_TARGETS_H_

#include "weft/base/cpu.h"

namespace weft {

inline bool uses_avx512() {
  static const bool is_used = instruction_set() >= InstructionSet::kAvx512;
  return is_used;
}

}  // namespace weft

// The version of `function`, which is not overloaded, for this machine.
#if HWY_TARGETS & HWY_AVX3
#define WEFT_FOR_MACHINE(function) \
  (::weft::uses_avx512() ? N_AVX3::function : HWY_STATIC_DISPATCH(function))
#else
#define WEFT_FOR_MACHINE(function) HWY_STATIC_DISPATCH(function)
#endif

#endif  // WEFT_KERNELS_SIMD_TARGETS_H_
