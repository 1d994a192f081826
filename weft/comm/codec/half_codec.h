// Value codecs of two bytes a value: f16 and bf16.
//
// Threads: codecs are immutable.
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_COMM_CODEC_HALF_CODEC_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_COMM_CODEC_HALF_CODEC_H_
#undef WEFT_COMM_CODEC_HALF_CODEC_H_
#else
#define WEFT_COMM_CODEC_HALF_CODEC_H_
#endif

#include <cmath>

#include "weft/comm/codec/stream_codec.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

// `Half` loads a vector of f32 from two bytes a value and stores one, rounded
// to nearest even; `kLargest` is its largest finite value, to which larger
// ones are clamped, and `kName` its dtype.
template <class Half>
class HalfValueCodec final : public StreamValueCodec {
 public:
  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const std::byte* halves = in.take(kBytes * values.size(), "values").data();
    auto not_finite = simd::broadcast(0);
    ValueStream::for_each_vector(
        values.size(), [&](std::size_t i, std::size_t count) {
          std::array<std::byte, kBytes * simd::kLanes> part{};
          std::memcpy(part.data(), halves + kBytes * i, kBytes * count);
          const auto value = Half::load(part.data());
          // x - x is 0 for a number, and NaN for infinity and NaN, which
          // stays.
          not_finite = simd::hn::Add(not_finite, simd::hn::Sub(value, value));
          store_values(value, &values[i], count);
        });
    if (std::isnan(simd::sum_lanes(not_finite))) {
      throw in.damaged("values", "holds a value that is not finite");
    }
  }

  std::string_view summable_as() const override { return Half::kName; }
  double value_bits() const override { return 16; }

 private:
  static constexpr std::size_t kBytes = 2;

  void encode_stream(const ValueStream& stream,
                     ByteWriter& out) const override {
    std::byte* halves = out.room(kBytes * stream.size());
    ValueStream::for_each_vector(
        stream.size(), [&](std::size_t i, std::size_t count) {
          const auto value = stream.load(i, count);
          std::array<std::byte, kBytes * simd::kLanes> part;
          Half::store(simd::hn::Clamp(value, simd::broadcast(-Half::kLargest),
                                      simd::broadcast(Half::kLargest)),
                      part.data());
          std::memcpy(halves + kBytes * i, part.data(), kBytes * count);
          stream.keep(simd::hn::Sub(value, Half::load(part.data())), i, count);
        });
  }
};

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
