// Three values and one scale, with random rounding (Wen et al., "TernGrad:
// ternary gradients to reduce communication in distributed deep learning",
// NeurIPS 2017): sign(v) with a chance of |v| / max, so that the mean is v.
//
// Layout: f32 scale, 0 if there is nothing but zeros; else the packed bytes
// (ternary.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/value/terngrad.cpp"
#include <cfloat>
#include <hwy/foreach_target.h>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/ternary_pack.h"
#include "weft/comm/codec/value_stream.h"
#include "weft/kernels/simd/philox_blocks.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

// Random words for the five parts of kPhiloxWords columns.
class ColumnWords {
 public:
  explicit ColumnWords(const RandomStream& random) : random_(random) {}

  // Uniform numbers for the vector at `place`; columns ascend from call to
  // call.
  simd::Vector uniform(const TernaryPlace& place) {
    // Each of the five parts has groups of words of its own.
    const std::uint64_t group = place.column / kPhiloxWords * 5 + place.part;
    auto& words = words_[place.part];
    if (place.column % kPhiloxWords == 0) {
      philox_blocks(random_, group * kPhiloxBlocks, words.data());
    }
    const hn::Rebind<std::uint32_t, simd::Floats> unsigned_words;
    const hn::Rebind<std::int32_t, simd::Floats> integers;
    const auto bits = hn::ShiftRight<8>(
        hn::LoadU(unsigned_words, &words[place.column % kPhiloxWords]));
    return hn::Mul(hn::ConvertTo(simd::Floats(), hn::BitCast(integers, bits)),
                   simd::broadcast(0x1p-24f));
  }

 private:
  RandomStream random_;
  std::array<std::array<std::uint32_t, kPhiloxWords>, 5> words_;
};

class TernGrad final : public ValueCodec {
 public:
  void encode(std::span<const float> values, const MessageId& id,
              std::span<float> residual, ByteWriter& out) const override {
    const ValueStream stream(values, residual);
    const float largest = stream.largest();
    // Denormal values are kept for later messages, as if they were 0.
    const float scale = largest < FLT_MIN ? 0 : largest;
    out.write(scale);
    if (scale == 0) {
      stream.keep_all();
      return;
    }
    ColumnWords words(id.private_random());
    pack_ternary(
        values.size(), out.room(ternary_bytes(values.size())),
        [&](const TernaryPlace& place) {
          const auto value = stream.load(place.first, place.count);
          // The chance |v| / scale is compared without a division.
          const auto chance =
              hn::Mul(words.uniform(place), simd::broadcast(scale));
          const auto is_sent = hn::Lt(chance, hn::Abs(value));
          const auto sent = hn::CopySign(simd::broadcast(scale), value);
          stream.keep(hn::Sub(value, hn::IfThenElseZero(is_sent, sent)),
                      place.first, place.count);
          return hn::IfThenElseZero(is_sent,
                                    hn::CopySign(simd::broadcast(1), value));
        });
  }

  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const float scale = read_finite(in, "scale");
    if (scale < 0) throw in.damaged("scale", "is negative");
    if (scale == 0) {
      std::fill(values.begin(), values.end(), 0.0f);
      return;
    }
    const auto packed = in.take(ternary_bytes(values.size()), "values");
    if (!unpack_ternary(packed, scale, values)) {
      throw in.damaged("values", "holds a byte above 242");
    }
  }

  bool is_unbiased() const override { return true; }
  // A value v is sent as M with a chance of |v| / M, which leaves out
  // |v| (M - |v|) on average: many times v^2 where most values are small.
  std::optional<Refusal> declines_feedback() const override {
    return Refusal{"error feedback", "it leaves out more than it is given",
                   "3lc sends three values too, and rounds so that errors die "
                   "out"};
  }
};

void add_codec(ValueCodecRegistry& codecs) {
  codecs.add({.name = "terngrad",
              .summary = "three values at random, five to a byte",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<ValueCodec> {
                return std::make_unique<TernGrad>();
              }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_value_codec_terngrad(ValueCodecRegistry& codecs) {
  WEFT_FOR_MACHINE(add_codec)(codecs);
}

}  // namespace weft
#endif
