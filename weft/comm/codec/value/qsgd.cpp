// Random rounding to a few levels (Alistarh et al., "QSGD:
// communication-efficient SGD via gradient quantization and encoding",
// NeurIPS 2017): of the norm of each bucket there are s levels, and a value
// goes to the level below or above it, with the chances that make its mean
// right.
//
// Layout, fixed coding: per bucket f32 unit (the norm over s), then the codes
// level + s, packed. Elias coding: varint bytes, then as bits, per bucket the
// unit, which of the paper's two regimes follows, and
//   dense   Elias(level + 1) of each value, with a sign if it is not 0;
//   sparse  Elias(count + 1) of those that are not 0, and for each its gap to
//           the one before, its sign, and Elias(level).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/value/qsgd.cpp"
#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/comm/codec/code_pack.h"
#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/elias.h"
#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/magnitude.h"
#include "weft/comm/codec/value_stream.h"
#include "weft/kernels/simd/philox_blocks.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::kLanes;
using Integers = hn::Rebind<std::int32_t, simd::Floats>;

struct Settings {
  int bits = 8;  // of a code: sign and level
  std::size_t bucket = 512;
  bool is_max_norm = false;
  bool is_elias = false;

  int levels() const { return (1 << (bits - 1)) - 1; }
  // The most that random rounding leaves out of a bucket on average, as a share
  // of its squared norm. A value between two levels, p of a unit above the
  // lower, leaves p (1 - p) units squared. With the l2 norm s units long, d
  // values leave at most d / 4 of the s^2. With the max norm the largest value
  // is s units long by itself and leaves nothing; the share of the d - 1 others
  // is largest where all have the same p < 1, and then with A = (d - 1) / s^2
  // it is A p (1 - p) / (1 + A p^2), at most (sqrt(1 + A) - 1) / 2.
  double most_left_out() const {
    const double s = levels();
    const auto d = static_cast<double>(bucket);
    return is_max_norm ? (std::sqrt(1 + (d - 1) / (s * s)) - 1) / 2
                       : d / (4 * s * s);
  }
  // The largest unit of which as many levels are still finite.
  float most_unit() const {
    return FLT_MAX / static_cast<float>(levels()) * (1 - FLT_EPSILON);
  }
};

// The norm over the number of levels; 0 for a bucket too small to be scaled.
float unit_of(std::span<const float> values, const Settings& settings) {
  const float largest = largest_magnitude(values);
  // The inverse of a smaller number may be infinite.
  if (largest < FLT_MIN) return 0;
  float unit = largest / static_cast<float>(settings.levels());
  if (!settings.is_max_norm) {
    // Values of at most 1 have squares that cannot overflow.
    const auto inverse = simd::broadcast(1 / largest);
    const auto squares = simd::reduce(
        values.data(), values.size(), 0, 0,
        [inverse](simd::Vector sum, simd::Vector x) {
          const auto scaled = hn::Mul(x, inverse);
          return hn::MulAdd(scaled, scaled, sum);
        },
        [](simd::Vector a, simd::Vector b) { return hn::Add(a, b); });
    unit *= std::sqrt(simd::sum_lanes(squares));
  }
  return unit < FLT_MIN ? 0 : std::min(unit, settings.most_unit());
}

// Rounds kLanes values at random; `words` holds a random word for each.
// Returns what their codes stand for.
simd::Vector quantize(simd::Vector values, float unit, float inverse,
                      int levels, const std::uint32_t* words,
                      std::uint8_t* codes) {
  const simd::Floats floats;
  const Integers integers;
  const hn::Rebind<std::uint32_t, simd::Floats> unsigned_words;
  // 24 bits are what an f32 holds exactly, so that the number is below 1.
  const auto uniform = hn::Mul(
      hn::ConvertTo(floats, hn::BitCast(integers, hn::ShiftRight<8>(hn::LoadU(
                                                      unsigned_words, words)))),
      simd::broadcast(0x1p-24f));
  const auto scaled = hn::Mul(hn::Abs(values), simd::broadcast(inverse));
  const auto below = hn::Floor(scaled);
  const auto is_above = hn::Lt(uniform, hn::Sub(scaled, below));
  const auto level =
      // The unit and its inverse are rounded, so the largest value may come out
      // above the last level.
      hn::Min(hn::Add(below, hn::IfThenElseZero(is_above, simd::broadcast(1))),
              simd::broadcast(static_cast<float>(levels)));
  const auto rounded = hn::CopySign(level, values);
  const auto code =
      hn::Add(hn::ConvertTo(integers, rounded), hn::Set(integers, levels));
  hn::StoreU(hn::DemoteTo(ByteCodes(), code), ByteCodes(), codes);
  return hn::Mul(rounded, simd::broadcast(unit));
}

class Qsgd final : public ValueCodec {
 public:
  explicit Qsgd(const Settings& settings) : settings_(settings) {}

  void encode(std::span<const float> values, const MessageId& id,
              std::span<float> residual, ByteWriter& out) const override {
    if (settings_.is_elias) {
      encode_elias(values, id, residual, out);
    } else {
      encode_fixed(values, id, residual, out);
    }
  }

  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    if (settings_.is_elias) {
      decode_elias(in, values);
    } else {
      decode_fixed(in, values);
    }
  }

  bool is_unbiased() const override { return true; }
  double value_bits() const override { return settings_.bits; }

  std::optional<Refusal> declines_feedback() const override {
    if (settings_.most_left_out() <= kMostLeftOut) return std::nullopt;
    Settings works = settings_;
    while (works.bits < 8 && works.most_left_out() > kMostLeftOut) {
      ++works.bits;
    }
    while (works.most_left_out() > kMostLeftOut) works.bucket /= 2;
    Settings smaller = settings_;
    while (smaller.most_left_out() > kMostLeftOut) smaller.bucket /= 2;
    return Refusal{
        "error feedback",
        fmt::format("rounded at random to {} levels, {} values leave out up to "
                    "{:.2g} times what they are",
                    settings_.levels(), settings_.bucket,
                    settings_.most_left_out()),
        fmt::format("qsgd(bits={}, bucket={}) and qsgd(bits={}, bucket={}) "
                    "leave out less than they are given",
                    works.bits, works.bucket, smaller.bits, smaller.bucket)};
  }

 private:
  // With this share left out of each message, a loop of corrections lags
  // behind what it follows by less than seven steps.
  static constexpr double kMostLeftOut = 0.75;

  // Room for the codes of a bucket, and for the last vector's padding.
  std::vector<std::uint8_t> code_room(std::size_t size) const {
    return std::vector<std::uint8_t>(std::min(settings_.bucket, size) + kLanes);
  }

  // Calls body(bucket number, its values, its residual).
  template <class Body>
  void for_each_bucket(std::span<const float> values, std::span<float> residual,
                       Body&& body) const {
    std::uint64_t number = 0;
    for (std::size_t begin = 0; begin < values.size();
         begin += settings_.bucket, ++number) {
      const std::size_t size =
          std::min(settings_.bucket, values.size() - begin);
      body(number, values.subspan(begin, size),
           residual.empty() ? residual : residual.subspan(begin, size));
    }
  }

  void quantize_bucket(std::uint64_t number, std::span<const float> values,
                       float unit, const RandomStream& random,
                       std::span<float> residual, std::uint8_t* codes) const {
    const ValueStream stream(values, residual);
    const int levels = settings_.levels();
    if (unit == 0) {
      // Too small to be scaled: all of it is left for later messages.
      std::fill_n(codes, values.size(), static_cast<std::uint8_t>(levels));
      stream.keep_all();
      return;
    }
    const float inverse = 1 / unit;
    // Each bucket starts a group of random words of its own.
    const std::uint64_t groups =
        (settings_.bucket + kPhiloxWords - 1) / kPhiloxWords;
    std::uint32_t words[kPhiloxWords];
    for (std::size_t i = 0; i < values.size(); i += kLanes) {
      const std::size_t word = i % kPhiloxWords;
      if (word == 0) {
        philox_blocks(random,
                      (number * groups + i / kPhiloxWords) * kPhiloxBlocks,
                      words);
      }
      const std::size_t count = std::min(kLanes, values.size() - i);
      const auto value = stream.load(i, count);
      stream.keep(hn::Sub(value, quantize(value, unit, inverse, levels,
                                          words + word, codes + i)),
                  i, count);
    }
  }

  // A unit is bounded so that no level times it overflows.
  float read_unit(float unit, const ByteReader& in) const {
    if (!(unit >= 0 && unit <= settings_.most_unit())) {
      throw in.damaged("unit", "is no size of a level");
    }
    return unit;
  }

  // Throws if a code is above twice the number of levels.
  void dequantize(std::span<const std::uint8_t> codes, float unit,
                  const ByteReader& in, std::span<float> values) const {
    const int levels = settings_.levels();
    const Integers integers;
    auto most = hn::Zero(integers);
    ValueStream::for_each_vector(
        values.size(), [&](std::size_t i, std::size_t count) {
          const auto code = hn::PromoteTo(
              integers,
              load_codes(ByteCodes(),
                         reinterpret_cast<const std::byte*>(&codes[i]), count));
          most = hn::Max(most, code);
          const auto level = hn::Sub(code, hn::Set(integers, levels));
          store_values(hn::Mul(hn::ConvertTo(simd::Floats(), level),
                               simd::broadcast(unit)),
                       &values[i], count);
        });
    // The largest code is looked at once, at the end: until then a wrong one
    // has made numbers that are thrown away.
    if (hn::GetLane(hn::MaxOfLanes(integers, most)) > 2 * levels) {
      throw in.damaged("codes", "holds a level that there is not");
    }
  }

  void encode_fixed(std::span<const float> values, const MessageId& id,
                    std::span<float> residual, ByteWriter& out) const {
    auto codes = code_room(values.size());
    const RandomStream random = id.private_random();
    for_each_bucket(
        values, residual, [&](std::uint64_t number, auto bucket, auto left) {
          const float unit = unit_of(bucket, settings_);
          quantize_bucket(number, bucket, unit, random, left, codes.data());
          out.write(unit);
          pack_codes({codes.data(), bucket.size()}, settings_.bits,
                     out.room(packed_bytes(bucket.size(), settings_.bits)));
        });
  }

  void decode_fixed(ByteReader& in, std::span<float> values) const {
    auto codes = code_room(values.size());
    for_each_bucket(values, values, [&](std::uint64_t, auto, auto bucket) {
      const float unit = read_unit(in.read<float>("unit"), in);
      const auto packed =
          in.take(packed_bytes(bucket.size(), settings_.bits), "codes");
      const std::span<std::uint8_t> unpacked(codes.data(), bucket.size());
      unpack_codes(packed.data(), settings_.bits, unpacked);
      dequantize(unpacked, unit, in, bucket);
    });
  }

  void encode_elias(std::span<const float> values, const MessageId& id,
                    std::span<float> residual, ByteWriter& out) const {
    auto codes = code_room(values.size());
    const RandomStream random = id.private_random();
    Bytes bits;
    ByteWriter bit_bytes(bits);
    BitWriter bit_writer(bit_bytes);
    for_each_bucket(
        values, residual, [&](std::uint64_t number, auto bucket, auto left) {
          const float unit = unit_of(bucket, settings_);
          quantize_bucket(number, bucket, unit, random, left, codes.data());
          bit_writer.put(std::bit_cast<std::uint32_t>(unit), 32);
          put_levels({codes.data(), bucket.size()}, bit_writer);
        });
    bit_writer.finish();
    out.write_varint(bits.size());
    out.write_all(std::span<const std::byte>(bits));
  }

  void decode_elias(ByteReader& in, std::span<float> values) const {
    const std::uint64_t bytes = in.read_varint("bytes");
    BitReader bits(in, static_cast<std::size_t>(bytes), "levels");
    auto codes = code_room(values.size());
    for_each_bucket(values, values, [&](std::uint64_t, auto, auto bucket) {
      const float unit = read_unit(std::bit_cast<float>(bits.get(32)), in);
      const std::span<std::uint8_t> unpacked(codes.data(), bucket.size());
      get_levels(bits, unpacked);
      dequantize(unpacked, unit, in, bucket);
    });
    bits.finish();
  }

  // Writes the regime that is shorter for these codes: both lengths are added
  // up before a bit is written.
  void put_levels(std::span<const std::uint8_t> codes, BitWriter& out) const {
    const int zero = settings_.levels();
    std::uint32_t count = 0;
    std::size_t dense = 0;
    std::size_t sparse = 0;
    std::size_t last = 0;  // one past the last that is not 0
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto level = static_cast<std::uint32_t>(std::abs(codes[i] - zero));
      dense += kBits[level + 1] + (level != 0);
      if (level == 0) continue;
      const auto gap = static_cast<std::uint32_t>(i + 1 - last);
      sparse += static_cast<std::size_t>(elias_bits(gap)) + 1 + kBits[level];
      last = i + 1;
      ++count;
    }
    sparse += static_cast<std::size_t>(elias_bits(count + 1));
    const bool is_sparse = sparse < dense;
    out.put(is_sparse, 1);
    if (is_sparse) put_elias(out, count + 1);
    last = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const int signed_level = codes[i] - zero;
      const auto level = static_cast<std::uint32_t>(std::abs(signed_level));
      if (!is_sparse) {
        put_elias(out, level + 1);
        if (level != 0) out.put(signed_level < 0, 1);
      } else if (level != 0) {
        put_elias(out, static_cast<std::uint32_t>(i + 1 - last));
        out.put(signed_level < 0, 1);
        put_elias(out, level);
        last = i + 1;
      }
    }
  }

  void get_levels(BitReader& in, std::span<std::uint8_t> codes) const {
    const auto zero = static_cast<std::uint32_t>(settings_.levels());
    const auto code_of = [&](std::uint32_t level, bool is_negative) {
      if (level > zero) throw in.damaged("holds a level that there is not");
      return static_cast<std::uint8_t>(is_negative ? zero - level
                                                   : zero + level);
    };
    if (in.get(1) == 0) {
      for (std::uint8_t& code : codes) {
        // Elias codes begin at 1, so that what may be 0 is written as one more.
        const std::uint32_t level = get_elias(in) - 1;
        code = code_of(level, level != 0 && in.get(1) != 0);
      }
      return;
    }
    std::fill(codes.begin(), codes.end(), static_cast<std::uint8_t>(zero));
    std::uint32_t count = get_elias(in) - 1;
    std::size_t next = 0;
    for (; count > 0; --count) {
      // A gap is at least 1, so that too large a count ends in this refusal.
      next += get_elias(in);
      if (next > codes.size()) throw in.damaged("leaves its bucket");
      const bool is_negative = in.get(1) != 0;
      codes[next - 1] = code_of(get_elias(in), is_negative);
    }
  }

  // Lengths of the codes of levels and of levels + 1.
  static constexpr auto kBits = [] {
    // A level is at most 127, and is written as one more.
    std::array<std::uint8_t, 130> bits{};
    for (std::uint32_t k = 1; k < bits.size(); ++k) {
      bits[k] = static_cast<std::uint8_t>(elias_bits(k));
    }
    return bits;
  }();

  Settings settings_;
};

std::unique_ptr<ValueCodec> make_qsgd(const Options& options) {
  return std::make_unique<Qsgd>(Settings{
      .bits = static_cast<int>(option<std::int64_t>(options, "bits")),
      .bucket =
          static_cast<std::size_t>(option<std::int64_t>(options, "bucket")),
      .is_max_norm = option<std::string>(options, "norm") == "max",
      .is_elias = option<std::string>(options, "coding") == "elias"});
}

void add_codec(ValueCodecRegistry& codecs) {
  codecs.add({.name = "qsgd",
              .summary = "random rounding to levels of a bucket's norm",
              .options = {{"bits",
                           std::int64_t{8},
                           "of a value, sign and all",
                           {.least = 2, .most = 8},
                           {},
                           "bits"},
                          {"bucket",
                           std::int64_t{512},
                           "how many values share a norm",
                           {.least = 1, .most = 1 << 20},
                           {},
                           "values"},
                          {"norm",
                           std::string("l2"),
                           "which levels are shares of",
                           {},
                           {"l2", "max"}},
                          {"coding",
                           std::string("fixed"),
                           "how levels are written: with equal bits, or fewer "
                           "for the smaller ones",
                           {},
                           {"fixed", "elias"}}},
              .make = make_qsgd,
              .candidate = "qsgd(8)"});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_value_codec_qsgd(ValueCodecRegistry& codecs) {
  WEFT_FOR_MACHINE(add_codec)(codecs);
}

}  // namespace weft
#endif
