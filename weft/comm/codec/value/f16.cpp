// IEEE 754 binary16, rounded to nearest.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/value/f16.cpp"
#include <hwy/foreach_target.h>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/half_codec.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

struct F16 {
  static constexpr std::string_view kName = "f16";
  // Larger values would round to infinity.
  static constexpr float kLargest = 65504;
  static simd::Vector load(const std::byte* p) {
    return simd::load(reinterpret_cast<const float16*>(p));
  }
  static void store(simd::Vector value, std::byte* p) {
    simd::store(value, reinterpret_cast<float16*>(p));
  }
};

void add_codec(ValueCodecRegistry& codecs) {
  codecs.add({.name = "f16",
              .summary = "11 bits of precision, at most 65504",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<ValueCodec> {
                return std::make_unique<HalfValueCodec<F16>>();
              }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_value_codec_f16(ValueCodecRegistry& codecs) {
  WEFT_FOR_MACHINE(add_codec)(codecs);
}

}  // namespace weft
#endif
