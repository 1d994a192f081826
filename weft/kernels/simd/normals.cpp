#include "weft/kernels/simd/normals.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/normals.cpp"
#include <hwy/foreach_target.h>

#include "weft/base/philox.h"
#include "weft/kernels/simd/quarter_turn.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/trigonometry.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using simd::broadcast_double;
using simd::Doubles;
using simd::DoubleVector;
using Words = hn::ScalableTag<std::uint64_t>;

// Integers below 2^52 are the lowest bits of doubles from 2^52 on.
DoubleVector to_double(hn::Vec<Words> integers) {
  const auto shift = broadcast_double(0x1p52);
  const auto shifted = hn::Or(integers, hn::BitCast(Words(), shift));
  return hn::Sub(hn::BitCast(Doubles(), shifted), shift);
}

// Whether a number is so near to the middle between two f32 that another
// computation of it may round to the other one. The functions here and C's are
// within 2^4 units in the last place of each other, where this leaves 2^12.
auto is_undecided(DoubleVector x) {
  constexpr std::uint64_t kNear = 1 << 12;
  constexpr std::uint64_t kMiddle = 1 << 28;  // f64 has 29 bits more than f32
  const Words words;
  const auto from_near =
      hn::Sub(hn::BitCast(words, x), hn::Set(words, kMiddle - kNear));
  const auto distance = hn::And(from_near, hn::Set(words, 2 * kMiddle - 1));
  // Neither is negative, so that the signed comparison, which AVX2 has, will
  // do.
  const hn::ScalableTag<std::int64_t> integers;
  return hn::RebindMask(Doubles(),
                        hn::Lt(hn::BitCast(integers, distance),
                               hn::Set(integers, std::int64_t{2 * kNear})));
}

// normal_from() with a pair of words in each lane. It follows the scalar
// function step by step, so that what is rounded is rounded alike.
void pairs(const std::uint32_t* words, float* out) {
  const Words d;
  const auto bits = hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(words));
  const auto a = to_double(hn::And(bits, hn::Set(d, 0xffffffffu)));
  const auto b = to_double(hn::ShiftRight<32>(bits));
  const auto scale = broadcast_double(0x1p-32);
  const auto u = hn::Mul(hn::Add(a, broadcast_double(1)), scale);
  const auto radius =
      hn::Sqrt(hn::Mul(broadcast_double(-2), hn::Log(Doubles(), u)));
  const auto angle = simd::turned(
      hn::Mul(hn::Mul(b, scale), broadcast_double(6.283185307179586)));
  const auto s = simd::quarter_sine(angle.rest);
  const auto c = simd::quarter_cosine(angle.rest);
  const auto is_odd = simd::is_odd(angle.quarters);
  // The sine is negative in quarters 2 and 3, the cosine in 1 and 2.
  const auto sign = hn::SignBit(Doubles());
  const auto half = hn::BitCast(d, angle.quarters);
  const auto sine_sign = hn::BitCast(Doubles(), hn::ShiftLeft<62>(half));
  const auto cosine_sign =
      hn::BitCast(Doubles(), hn::ShiftLeft<62>(hn::Add(half, hn::Set(d, 1u))));
  const auto x = hn::Mul(radius, hn::Xor(hn::IfThenElse(is_odd, s, c),
                                         hn::And(cosine_sign, sign)));
  const auto y = hn::Mul(
      radius, hn::Xor(hn::IfThenElse(is_odd, c, s), hn::And(sine_sign, sign)));
  const hn::Rebind<float, Doubles> floats;
  hn::StoreInterleaved2(hn::DemoteTo(floats, x), hn::DemoteTo(floats, y),
                        floats, out);
  if (hn::AllFalse(Doubles(), hn::Or(is_undecided(x), is_undecided(y)))) return;
  // About one number in 2^16 comes here: it fails Ziv's rounding test ("Fast
  // evaluation of elementary mathematical functions with correctly rounded last
  // bit", 1991).
  for (std::size_t i = 0; i < 2 * hn::Lanes(d); i += 2) {
    const auto pair = normal_from(words[i], words[i + 1]);
    out[i] = pair[0];
    out[i + 1] = pair[1];
  }
}

void all_pairs(const std::uint32_t* words, float* out, std::size_t count) {
  const std::size_t step = 2 * hn::Lanes(Words());
  for (std::size_t i = 0; i < count; i += step) pairs(words + i, out + i);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void normals(const std::uint32_t* words, float* out, std::size_t count) {
  WEFT_FOR_MACHINE(all_pairs)(words, out, count);
}

}  // namespace weft
#endif
