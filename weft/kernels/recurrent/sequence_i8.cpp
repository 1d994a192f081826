// The loops of recurrent layers with weights of i8.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/recurrent/sequence_i8.cpp"
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
  // The panels are packed for one of the two (packed_weights.h).
  if (weft::recurrent::group_of(DType::kI8) == 4) {
    return recurrent::find_loop<recurrent::I8QuadsFormat>(shape, parameters);
  }
#endif
  return recurrent::find_loop<recurrent::I8PairsFormat>(shape, parameters);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::recurrent {

SequenceFunction find_sequence_i8(const SequenceShape& shape,
                                  const LoopParameters& parameters) {
  return WEFT_FOR_MACHINE(find)(shape, parameters);
}

}  // namespace weft::recurrent
#endif
