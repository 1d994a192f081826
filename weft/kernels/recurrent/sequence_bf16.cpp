// The loops of recurrent layers with weights of bf16.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/recurrent/sequence_bf16.cpp"
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
#if HWY_TARGET == HWY_AVX3
  if (instruction_set() >= InstructionSet::kAvx512Bf16) {
    return recurrent::find_loop<recurrent::Bf16Format<true>>(shape, parameters);
  }
#endif
  return recurrent::find_loop<recurrent::Bf16Format<false>>(shape, parameters);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::recurrent {

SequenceFunction find_sequence_bf16(const SequenceShape& shape,
                                    const LoopParameters& parameters) {
  return WEFT_FOR_MACHINE(find)(shape, parameters);
}

}  // namespace weft::recurrent
#endif
