// One bit a value, with error feedback (Seide et al., "1-bit stochastic
// gradient descent and its application to data-parallel distributed training
// of speech DNNs", Interspeech 2014): values of either sign become their
// mean, the two levels of least squared error.
//
// Layout: f32 mean of those below 0, f32 mean of the others, a bit a value,
// lowest first: 1 for those others.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/value/onebit.cpp"
#include <hwy/foreach_target.h>

#include "weft/comm/codec/bit_pack.h"
#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/value_stream.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

struct Levels {
  float negative = 0;
  float positive = 0;
};

Levels levels_of(const ValueStream& stream) {
  const hn::ScalableTag<double> doubles;
  const hn::Half<simd::Floats> half;
  // Sums are in f64: in f32, millions of small values added to a large sum
  // would be lost.
  auto negative = hn::Zero(doubles);  // sums
  auto positive = hn::Zero(doubles);
  std::size_t negatives = 0;
  ValueStream::for_each_vector(
      stream.size(), [&](std::size_t i, std::size_t count) {
        const auto value = stream.load(i, count);
        // Lanes behind the end are 0, which is no negative and adds nothing.
        negatives +=
            hn::CountTrue(simd::Floats(), hn::Lt(value, simd::broadcast(0)));
        for (const auto part :
             {hn::LowerHalf(half, value), hn::UpperHalf(half, value)}) {
          const auto wide = hn::PromoteTo(doubles, part);
          negative = hn::Add(negative, hn::Min(wide, hn::Zero(doubles)));
          positive = hn::Add(positive, hn::Max(wide, hn::Zero(doubles)));
        }
      });
  const auto mean = [&](auto sum, std::size_t count) {
    // A sign that no value has needs no level.
    return count == 0
               ? 0.0f
               : static_cast<float>(hn::GetLane(hn::SumOfLanes(doubles, sum)) /
                                    static_cast<double>(count));
  };
  return {mean(negative, negatives), mean(positive, stream.size() - negatives)};
}

class OneBit final : public ValueCodec {
 public:
  void encode(std::span<const float> values, const MessageId&,
              std::span<float> residual, ByteWriter& out) const override {
    const ValueStream stream(values, residual);
    const Levels levels = levels_of(stream);
    out.write(levels.negative);
    out.write(levels.positive);
    std::byte* bits = out.room(packed_bytes(values.size(), 1));
    for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
      const std::size_t size = std::min(kBlock, values.size() - begin);
      std::uint64_t word = 0;
      ValueStream::for_each_vector(size, [&](std::size_t i, std::size_t count) {
        const auto value = stream.load(begin + i, count);
        const auto is_positive = hn::Ge(value, simd::broadcast(0));
        const auto sent =
            hn::IfThenElse(is_positive, simd::broadcast(levels.positive),
                           simd::broadcast(levels.negative));
        stream.keep(hn::Sub(value, sent), begin + i, count);
        std::uint64_t lanes = 0;
        hn::StoreMaskBits(
            simd::Floats(),
            hn::And(is_positive, hn::FirstN(simd::Floats(), count)),
            reinterpret_cast<std::uint8_t*>(&lanes));
        word |= lanes << i;
      });
      std::memcpy(bits + begin / 8, &word, packed_bytes(size, 1));
    }
  }

  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const auto negative = simd::broadcast(read_finite(in, "negative mean"));
    const auto positive = simd::broadcast(read_finite(in, "positive mean"));
    const auto bits = in.take(packed_bytes(values.size(), 1), "bits");
    for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
      const std::size_t size = std::min(kBlock, values.size() - begin);
      std::uint64_t word = 0;
      std::memcpy(&word, &bits[begin / 8], packed_bytes(size, 1));
      ValueStream::for_each_vector(size, [&](std::size_t i, std::size_t count) {
        const std::uint64_t lanes = word >> i;
        const auto is_positive = hn::LoadMaskBits(
            simd::Floats(), reinterpret_cast<const std::uint8_t*>(&lanes));
        store_values(hn::IfThenElse(is_positive, positive, negative),
                     &values[begin + i], count);
      });
    }
  }

 private:
  // Values whose bits make a word; a multiple of kLanes.
  static constexpr std::size_t kBlock = 64;
};

void add_codec(ValueCodecRegistry& codecs) {
  codecs.add({.name = "onebit",
              .summary = "signs, and the means of either",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<ValueCodec> {
                return std::make_unique<OneBit>();
              }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_value_codec_onebit(ValueCodecRegistry& codecs) {
  WEFT_FOR_MACHINE(add_codec)(codecs);
}

}  // namespace weft
#endif
