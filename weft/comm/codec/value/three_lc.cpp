// Three values and one scale, with deterministic rounding and error feedback
// (Lim, Andersen and Kaminsky, "3LC: lightweight and effective traffic
// compression for distributed machine learning", MLSys 2019).
//
// The scale M is s times the largest magnitude; a value becomes round(v / M),
// which is -1, 0 or 1. A larger s makes more zeros, whose residuals stay at
// most M / 2.
//
// Layout: f32 M, 0 if there is nothing but zeros; else, without zero runs the
// packed bytes (ternary.h), with them u32 bytes and as many.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/value/three_lc.cpp"
#include <cfloat>
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/stream_codec.h"
#include "weft/comm/codec/ternary_pack.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

class ThreeLc final : public StreamValueCodec {
 public:
  ThreeLc(float s, bool has_zero_runs) : s_(s), has_zero_runs_(has_zero_runs) {}

  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const float scale = read_finite(in, "scale");
    if (scale < 0) throw in.damaged("scale", "is negative");
    if (scale == 0) {
      std::fill(values.begin(), values.end(), 0.0f);
      return;
    }
    const std::size_t size = ternary_bytes(values.size());
    if (!has_zero_runs_) {
      unpack(in.take(size, "values"), scale, in, values);
      return;
    }
    const auto bytes = in.read<std::uint32_t>("bytes");
    const auto shortened = in.take(bytes, "values");
    Bytes packed(size);
    if (!expand_zero_runs(shortened, packed)) {
      throw in.damaged("values", "does not have the length of the tensor");
    }
    unpack(packed, scale, in, values);
  }

  double value_bits() const override { return 8.0 / 5; }
  // Above s = 1 a memory holds back so much that a classifier, which nothing
  // normalizes, costs accuracy: ResNet-20's has 640 values
  // (docs/results/comm.md).
  std::int64_t min_elements() const override { return s_ > 1 ? 1000 : 256; }

 private:
  void encode_stream(const ValueStream& stream,
                     ByteWriter& out) const override {
    const float scale = scale_for(stream.largest());
    out.write(scale);
    if (scale == 0) {
      stream.keep_all();
      return;
    }
    const std::size_t size = ternary_bytes(stream.size());
    const std::size_t begin = out.size();
    if (has_zero_runs_) out.write(std::uint32_t{0});  // filled in below
    std::byte* packed = out.room(size);
    quantize(stream, scale, packed);
    if (has_zero_runs_) {
      const auto shortened =
          static_cast<std::uint32_t>(shorten_zero_runs({packed, size}));
      std::memcpy(packed - sizeof(shortened), &shortened, sizeof(shortened));
      out.truncate(begin + sizeof(shortened) + shortened);
    }
  }

  float scale_for(float largest) const {
    // Below twice the largest, however it rounds: what is not above M / 2 is
    // never sent.
    const float scale =
        std::min(s_ * largest, std::nextafter(2 * largest, 0.0f));
    return scale < FLT_MIN ? 0 : scale;
  }

  // round(v / M) is not 0 just where |v| > M / 2: halves go to even. The
  // residual v - M is exact (Sterbenz), since M / 2 < v <= M.
  static void quantize(const ValueStream& stream, float scale,
                       std::byte* packed) {
    const auto half = simd::broadcast(scale / 2);
    pack_ternary(stream.size(), packed, [&](const TernaryPlace& place) {
      const auto value = stream.load(place.first, place.count);
      const auto is_sent = hn::Gt(hn::Abs(value), half);
      const auto sign = hn::CopySign(simd::broadcast(1), value);
      const auto sent = hn::CopySign(simd::broadcast(scale), value);
      stream.keep(hn::Sub(value, hn::IfThenElseZero(is_sent, sent)),
                  place.first, place.count);
      return hn::IfThenElseZero(is_sent, sign);
    });
  }

  static void unpack(std::span<const std::byte> packed, float scale,
                     const ByteReader& in, std::span<float> values) {
    if (!unpack_ternary(packed, scale, values)) {
      throw in.damaged("values", "holds a byte above 242");
    }
  }

  float s_;
  bool has_zero_runs_;
};

std::unique_ptr<ValueCodec> make_three_lc(const Options& options) {
  // The nearest float may be 2, at which nothing would ever be sent.
  const float s = std::min(static_cast<float>(option<double>(options, "s")),
                           std::nextafter(2.0f, 1.0f));
  return std::make_unique<ThreeLc>(s, option<bool>(options, "zero_run"));
}

void add_codec(ValueCodecRegistry& codecs) {
  codecs.add({.name = "3lc",
              .summary = "three values, five to a byte, without runs of zeros",
              .options = {{"s",
                           1.0,
                           "how much is left for later",
                           {.least = 1, .most = 2, .is_open_above = true}},
                          {"zero_run", true, "remove runs of zeros"}},
              .make = make_three_lc,
              .candidate = "3lc"});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_value_codec_three_lc(ValueCodecRegistry& codecs) {
  WEFT_FOR_MACHINE(add_codec)(codecs);
}

}  // namespace weft
#endif
