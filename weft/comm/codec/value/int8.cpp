// 255 levels of one scale: round(127 v / max).
//
// Layout: f32 unit (the largest magnitude over 127, or 0 if there is nothing
// but zeros), then an i8 a value unless it is 0.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/value/int8.cpp"
#include <cfloat>
#include <hwy/foreach_target.h>

#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/stream_codec.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using Integers = hn::Rebind<std::int32_t, simd::Floats>;

// Any i8 times this is finite.
constexpr float kMostUnit = FLT_MAX / 128;

class Int8 final : public StreamValueCodec {
 public:
  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const auto unit = in.read<float>("unit");
    if (!(unit >= 0 && unit <= kMostUnit)) {
      throw in.damaged("unit", "is no size of a level");
    }
    if (unit == 0) {
      std::fill(values.begin(), values.end(), 0.0f);
      return;
    }
    const auto codes = in.take(values.size(), "codes");
    ValueStream::for_each_vector(values.size(), [&](std::size_t i,
                                                    std::size_t count) {
      const auto code = hn::PromoteTo(
          Integers(), load_codes(SignedByteCodes(), codes.data() + i, count));
      store_values(
          hn::Mul(hn::ConvertTo(simd::Floats(), code), simd::broadcast(unit)),
          &values[i], count);
    });
  }

  double value_bits() const override { return 8; }

 private:
  void encode_stream(const ValueStream& stream,
                     ByteWriter& out) const override {
    float unit = std::min(stream.largest() / 127, kMostUnit);
    // The inverse of a smaller unit may be infinite.
    if (unit < FLT_MIN) unit = 0;
    out.write(unit);
    if (unit == 0) {
      stream.keep_all();
      return;
    }
    std::byte* codes = out.room(stream.size());
    const auto inverse = simd::broadcast(1 / unit);
    ValueStream::for_each_vector(
        stream.size(), [&](std::size_t i, std::size_t count) {
          const auto value = stream.load(i, count);
          // The inverse is rounded, so the largest magnitude may come out as
          // 128; -128 is left out as well, so that levels are symmetric.
          const auto code = hn::Min(hn::NearestInt(hn::Mul(value, inverse)),
                                    hn::Set(Integers(), 127));
          const auto level = hn::Max(code, hn::Set(Integers(), -127));
          store_codes(hn::DemoteTo(SignedByteCodes(), level), SignedByteCodes(),
                      codes + i, count);
          const auto sent = hn::Mul(hn::ConvertTo(simd::Floats(), level),
                                    simd::broadcast(unit));
          stream.keep(hn::Sub(value, sent), i, count);
        });
  }
};

void add_codec(ValueCodecRegistry& codecs) {
  codecs.add({.name = "int8",
              .summary = "255 levels of the largest magnitude",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<ValueCodec> {
                return std::make_unique<Int8>();
              }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_value_codec_int8(ValueCodecRegistry& codecs) {
  WEFT_FOR_MACHINE(add_codec)(codecs);
}

}  // namespace weft
#endif
