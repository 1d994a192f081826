// Vectors of f32 of the target that is compiled for, and their passage to and
// from memory in f32, bf16 or f16.
//
// Compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_LANES_H_
#undef WEFT_KERNELS_SIMD_LANES_H_
#else
#define WEFT_KERNELS_SIMD_LANES_H_
#endif

#include <array>
#include <cstring>
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "weft/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

inline constexpr std::size_t kLanes = hn::MaxLanes(Floats());

inline Vector broadcast(float value) { return hn::Set(Floats(), value); }

inline Vector load(const float* p) { return hn::LoadU(Floats(), p); }
inline Vector load(const bfloat16* p) {
  const hn::Rebind<std::uint16_t, Floats> halves;
  const hn::Rebind<std::uint32_t, Floats> words;
  const auto bits =
      hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(p));
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
}

inline Vector load(const float16* p) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  return hn::PromoteTo(
      Floats(), hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(p)));
}

// A bf16 in the upper half of each word; what is below it counts for nothing.
// Rounds to nearest even, as bfloat16 does; NaN stays NaN.
inline auto upper_bf16(Vector value) {
  const hn::Rebind<std::uint32_t, Floats> words;
  const auto bits = hn::BitCast(words, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fffu)));
  const auto quiet = hn::Or(bits, hn::Set(words, 0x400000u));
  const auto is_nan = hn::RebindMask(words, hn::IsNaN(value));
  return hn::IfThenElse(is_nan, quiet, rounded);
}

// Each value as the nearest one of a narrower dtype, still in f32.
inline Vector round_to_bf16(Vector value) {
  const hn::Rebind<std::uint32_t, Floats> words;
  return hn::BitCast(Floats(),
                     hn::And(upper_bf16(value), hn::Set(words, 0xffff0000u)));
}
inline Vector round_to_f16(Vector value) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  return hn::PromoteTo(Floats(), hn::DemoteTo(halves, value));
}

// To memory, rounded to nearest even.
inline void store(Vector value, float* p) { hn::StoreU(value, Floats(), p); }
inline void store(Vector value, bfloat16* p) {
  const hn::Rebind<std::uint16_t, Floats> halves;
  hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(upper_bf16(value))),
             halves, reinterpret_cast<std::uint16_t*>(p));
}
inline void store(Vector value, float16* p) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  hn::StoreU(hn::DemoteTo(halves, value), halves,
             reinterpret_cast<hwy::float16_t*>(p));
}

// The first `count` < kLanes elements, the rest filled.
template <class T>
Vector load_part(const T* p, std::size_t count, float fill) {
  // A copy is taken, as memory behind the last element may belong to nobody.
  std::array<T, kLanes> part;
  part.fill(T(fill));
  std::memcpy(part.data(), p, count * sizeof(T));
  return load(part.data());
}
template <class T>
void store_part(Vector value, T* p, std::size_t count) {
  std::array<T, kLanes> part;
  store(value, part.data());
  std::memcpy(p, part.data(), count * sizeof(T));
}

inline float sum_lanes(Vector v) {
  return hn::GetLane(hn::SumOfLanes(Floats(), v));
}
inline float max_lanes(Vector v) {
  return hn::GetLane(hn::MaxOfLanes(Floats(), v));
}

// y[i] = function(x[i]) for i < count.
template <class X, class Y, class Function>
void map(const X* x, Y* y, std::size_t count, Function&& function) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(function(load(x + i)), y + i);
  if (i < count) {
    store_part(function(load_part(x + i, count - i, 0.f)), y + i, count - i);
  }
}

// Folds x with four chains, so that latency hides; `fold(state, vector)` must
// leave the state alone for a vector of `neutral`.
template <class X, class Fold, class Combine>
Vector reduce(const X* x, std::size_t count, float start, float neutral,
              Fold&& fold, Combine&& combine) {
  Vector a = broadcast(start);
  Vector b = a;
  Vector c = a;
  Vector d = a;
  std::size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    a = fold(a, load(x + i));
    b = fold(b, load(x + i + kLanes));
    c = fold(c, load(x + i + 2 * kLanes));
    d = fold(d, load(x + i + 3 * kLanes));
  }
  for (; i + kLanes <= count; i += kLanes) a = fold(a, load(x + i));
  if (i < count) b = fold(b, load_part(x + i, count - i, neutral));
  return combine(combine(a, b), combine(c, d));
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // per target
