// The upper half of an f32, rounded to nearest.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/value/bf16.cpp"
#include <hwy/foreach_target.h>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/half_codec.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

struct Bf16 {
  static constexpr std::string_view kName = "bf16";
  // Larger values would round to infinity.
  static constexpr float kLargest = 0x1.FEp127f;

  static simd::Vector load(const std::byte* p) {
    return simd::load(reinterpret_cast<const bfloat16*>(p));
  }
  static void store(simd::Vector value, std::byte* p) {
    simd::store(value, reinterpret_cast<bfloat16*>(p));
  }
};

void add_codec(ValueCodecRegistry& codecs) {
  codecs.add({.name = "bf16",
              .summary = "f32 cut to 8 bits of precision",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<ValueCodec> {
                return std::make_unique<HalfValueCodec<Bf16>>();
              },
              .candidate = "bf16"});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_value_codec_bf16(ValueCodecRegistry& codecs) {
  WEFT_FOR_MACHINE(add_codec)(codecs);
}

}  // namespace weft
#endif
