// The loops of recurrent layers with weights of f32, and what all formats have
// of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/recurrent/sequence_f32.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/recurrent/sequence_loop.h"
#include "weft/kernels/recurrent/sequences.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

weft::recurrent::SequenceFunction find(
    const weft::recurrent::SequenceShape& shape,
    const weft::recurrent::LoopParameters& parameters) {
  return recurrent::find_loop<recurrent::F32Format>(shape, parameters);
}

std::size_t lanes() { return simd::kLanes; }
std::size_t registers() {
  // AVX-512 and NEON have 32, AVX2 has half of them.
#if HWY_TARGET == HWY_AVX2
  return 16;
#else
  return 32;
#endif
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::recurrent {

SequenceFunction find_sequence_f32(const SequenceShape& shape,
                                   const LoopParameters& parameters) {
  return WEFT_FOR_MACHINE(find)(shape, parameters);
}

std::size_t machine_lanes() { return WEFT_FOR_MACHINE(lanes)(); }
std::size_t machine_registers() { return WEFT_FOR_MACHINE(registers)(); }

}  // namespace weft::recurrent
#endif
