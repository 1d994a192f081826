// How a recurrent layer's loop multiplies: in f32, in bf16 and in i8. Each
// format says what words the left operand is read in (a word is 32 bits: one
// number of f32, two of bf16, two or four of i8), and what is added to the sums
// of a vector of columns for one word and one group of a panel
// (packed_weights.h).
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_RECURRENT_FORMATS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_RECURRENT_FORMATS_H_
#undef WEFT_KERNELS_RECURRENT_FORMATS_H_
#else
#define WEFT_KERNELS_RECURRENT_FORMATS_H_
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::recurrent {

namespace hn = simd::hn;
using simd::kLanes;
using simd::Vector;
using Words = hn::RebindToSigned<simd::Floats>;
using WordVector = hn::Vec<Words>;

// What turns the sums of a column into f32.
struct ColumnScales {
  const float* scales = nullptr;
  const std::int32_t* offsets = nullptr;
};

struct F32Format {
  using Sum = Vector;
  static constexpr std::size_t kBytes = sizeof(float);  // of a column's group
  static constexpr bool kConverts = false;  // rows are read as they are

  static Sum zero() { return hn::Zero(simd::Floats()); }
  static Vector left(const std::uint32_t* word) {
    float value;
    std::memcpy(&value, word, sizeof value);
    return simd::broadcast(value);
  }
  static Vector right(const std::byte* panel) {
    return simd::load(reinterpret_cast<const float*>(panel));
  }
  static Sum add(Vector left, Vector right, Sum sum) {
    return hn::MulAdd(left, right, sum);
  }
  static Sum join(Sum a, Sum b) { return hn::Add(a, b); }
  static Vector finish(Sum sum, const ColumnScales&, std::size_t, float) {
    return sum;
  }
};

// Both operands are rounded to bf16; products are exact and summed in f32, as
// oneDNN does.
template <bool kHasInstruction>
struct Bf16Format {
  using Sum = Vector;
  static constexpr std::size_t kBytes = 2 * sizeof(bfloat16);
  static constexpr bool kConverts = true;

  static float convert(const float* row, std::size_t count, std::size_t words,
                       std::uint32_t* to) {
    to[words - 1] = 0;  // the last number may have no partner
    simd::map(row, reinterpret_cast<bfloat16*>(to), count,
              [](Vector v) { return v; });
    return 1;
  }
  static Sum zero() { return hn::Zero(simd::Floats()); }
  static WordVector left(const std::uint32_t* word) {
    return hn::Set(Words(), static_cast<std::int32_t>(*word));
  }
  static WordVector right(const std::byte* panel) {
    return hn::LoadU(Words(), reinterpret_cast<const std::int32_t*>(panel));
  }
  static Sum add(WordVector left, WordVector right, Sum sum) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (kHasInstruction) {
      // What is compiled for AVX-512 alone may not call its intrinsic.
      asm("vdpbf16ps %2, %1, %0"
          : "+v"(sum.raw)
          : "v"(left.raw), "v"(right.raw));
      return sum;
    }
#endif
    sum = hn::MulAdd(even(left), even(right), sum);
    return hn::MulAdd(odd(left), odd(right), sum);
  }
  static Sum join(Sum a, Sum b) { return hn::Add(a, b); }
  static Vector finish(Sum sum, const ColumnScales&, std::size_t, float) {
    return sum;
  }

 private:
  // A bf16 is the upper half of an f32.
  static Vector even(WordVector pair) {
    return hn::BitCast(simd::Floats(), hn::ShiftLeft<16>(pair));
  }
  static Vector odd(WordVector pair) {
    const auto upper = hn::Set(Words(), static_cast<std::int32_t>(0xffff0000u));
    return hn::BitCast(simd::Floats(), hn::And(pair, upper));
  }
};

// A row of x as scale q, with q from -127 to 127. What is no number makes the
// scale NaN, and with it all that the row is multiplied by.
struct QuantizedRow {
  Vector inverse;
  float scale;

  QuantizedRow(const float* row, std::size_t count) {
    Vector largest = simd::broadcast(0.f);
    Vector poison = largest;
    const auto look = [&](Vector v) {
      largest = hn::Max(largest, hn::Abs(v));
      poison = hn::MulAdd(v, simd::broadcast(0.f), poison);
    };
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) look(simd::load(row + i));
    if (i < count) look(simd::load_part(row + i, count - i, 0.f));
    const float size = simd::max_lanes(largest);
    scale = size / 127.f + simd::sum_lanes(poison);
    inverse = simd::broadcast(size > 0 ? 127.f / size : 0.f);
  }
  WordVector operator()(Vector v) const {
    return hn::NearestInt(hn::Mul(v, inverse));
  }
};

// Pairs are widened to i16, and their products added up exactly: what there is
// where no instruction adds products of i8 without saturating in between.
struct I8PairsFormat {
  // x86 adds up pairs in the first alone.
  struct Sum {
    WordVector even, odd;
  };
  using Halves = hn::RepartitionToNarrow<Words>;
  using HalfVector = hn::Vec<Halves>;
  static constexpr std::size_t kBytes = 2;
  static constexpr bool kConverts = true;

  static float convert(const float* row, std::size_t count, std::size_t words,
                       std::uint32_t* to) {
    to[words - 1] = 0;
    const QuantizedRow quantized(row, count);
    const hn::Rebind<std::int16_t, simd::Floats> halves;
    auto* numbers = reinterpret_cast<std::int16_t*>(to);
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::StoreU(hn::DemoteTo(halves, quantized(simd::load(row + i))), halves,
                 numbers + i);
    }
    if (i < count) {
      std::int16_t part[kLanes];
      const Vector last = simd::load_part(row + i, count - i, 0.f);
      hn::StoreU(hn::DemoteTo(halves, quantized(last)), halves, part);
      std::memcpy(numbers + i, part, (count - i) * sizeof *part);
    }
    return quantized.scale;
  }
  static Sum zero() { return {hn::Zero(Words()), hn::Zero(Words())}; }
  static HalfVector left(const std::uint32_t* word) {
    return hn::BitCast(Halves(),
                       hn::Set(Words(), static_cast<std::int32_t>(*word)));
  }
  static HalfVector right(const std::byte* panel) {
    const hn::Rebind<std::int8_t, Halves> bytes;
    return hn::PromoteTo(
        Halves(),
        hn::LoadU(bytes, reinterpret_cast<const std::int8_t*>(panel)));
  }
  static Sum add(HalfVector left, HalfVector right, Sum sum) {
    sum.even =
        hn::ReorderWidenMulAccumulate(Words(), left, right, sum.even, sum.odd);
    return sum;
  }
  static Sum join(Sum a, Sum b) {
    return {hn::Add(a.even, b.even), hn::Add(a.odd, b.odd)};
  }
  static Vector finish(Sum sum, const ColumnScales& columns, std::size_t first,
                       float scale) {
    const auto total = hn::RearrangeToOddPlusEven(sum.even, sum.odd);
    return hn::Mul(
        hn::Mul(hn::ConvertTo(simd::Floats(), total), simd::broadcast(scale)),
        simd::load(columns.scales + first));
  }
};

#if HWY_TARGET == HWY_AVX3
// Four products at once (VNNI). The left operand has no sign: 128 is added to
// it, and its share taken off the sum.
struct I8QuadsFormat {
  using Sum = WordVector;
  static constexpr std::size_t kBytes = 4;
  static constexpr bool kConverts = true;

  static float convert(const float* row, std::size_t count, std::size_t words,
                       std::uint32_t* to) {
    to[words - 1] = 0;  // the weights of what is missing are 0
    const QuantizedRow quantized(row, count);
    const hn::Rebind<std::uint8_t, simd::Floats> bytes;
    auto* numbers = reinterpret_cast<std::uint8_t*>(to);
    const auto moved = [&](Vector v) {
      return hn::DemoteTo(bytes, hn::Add(quantized(v), hn::Set(Words(), 128)));
    };
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::StoreU(moved(simd::load(row + i)), bytes, numbers + i);
    }
    if (i < count) {
      std::uint8_t part[kLanes];
      hn::StoreU(moved(simd::load_part(row + i, count - i, 0.f)), bytes, part);
      std::memcpy(numbers + i, part, count - i);
    }
    return quantized.scale;
  }
  static Sum zero() { return hn::Zero(Words()); }
  static WordVector left(const std::uint32_t* word) {
    return hn::Set(Words(), static_cast<std::int32_t>(*word));
  }
  static WordVector right(const std::byte* panel) {
    return hn::LoadU(Words(), reinterpret_cast<const std::int32_t*>(panel));
  }
  static Sum add(WordVector left, WordVector right, Sum sum) {
    // What is compiled for AVX-512 alone may not call its intrinsic.
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(left.raw), "v"(right.raw));
    return sum;
  }
  static Sum join(Sum a, Sum b) { return hn::Add(a, b); }
  static Vector finish(Sum sum, const ColumnScales& columns, std::size_t first,
                       float scale) {
    const auto total =
        hn::Sub(sum, hn::LoadU(Words(), columns.offsets + first));
    return hn::Mul(
        hn::Mul(hn::ConvertTo(simd::Floats(), total), simd::broadcast(scale)),
        simd::load(columns.scales + first));
  }
};
#endif

}  // namespace weft::HWY_NAMESPACE::recurrent
HWY_AFTER_NAMESPACE();

#endif  // per target
