// Vectors of f32 of the target that is compiled for, and their passage to and
// from memory in f32, bf16 or f16; and what kernels of any float need besides,
// which compute f64 in itself.
//
// It is compiled once per target (kernels/simd/targets.h).
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

// What a float is computed in, and how many of them a vector holds.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class T>
using ComputedTag = hn::ScalableTag<Computed<T>>;
template <class T>
using ComputedVector = hn::Vec<ComputedTag<T>>;
template <class T>
inline constexpr std::size_t kLanesOf = hn::MaxLanes(ComputedTag<T>());

inline Vector broadcast(float value) { return hn::Set(Floats(), value); }

inline ComputedVector<double> load(const double* p) {
  return hn::LoadU(ComputedTag<double>(), p);
}
inline Vector load(const float* p) { return hn::LoadU(Floats(), p); }
using Halves = hn::Rebind<std::uint16_t, Floats>;
template <class Half>
auto bits_at(Half* p) {
  using Bits = std::conditional_t<std::is_const_v<Half>, const std::uint16_t,
                                  std::uint16_t>;
  return reinterpret_cast<Bits*>(p);
}

// From a dtype's bits; its pointer only says which.
inline Vector widen(hn::Vec<Halves> bits, const bfloat16*) {
  const hn::Rebind<std::uint32_t, Floats> words;
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
}
inline Vector widen(hn::Vec<Halves> bits, const float16*) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  return hn::PromoteTo(Floats(), hn::BitCast(halves, bits));
}
inline Vector load(const bfloat16* p) {
  return widen(hn::LoadU(Halves(), bits_at(p)), p);
}
inline Vector load(const float16* p) {
  return widen(hn::LoadU(Halves(), bits_at(p)), p);
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
inline void store(ComputedVector<double> value, double* p) {
  hn::StoreU(value, ComputedTag<double>(), p);
}
inline void store(Vector value, float* p) { hn::StoreU(value, Floats(), p); }
inline hn::Vec<Halves> narrow(Vector value, const bfloat16*) {
  return hn::TruncateTo(Halves(), hn::ShiftRight<16>(upper_bf16(value)));
}
inline hn::Vec<Halves> narrow(Vector value, const float16*) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  return hn::BitCast(Halves(), hn::DemoteTo(halves, value));
}
inline void store(Vector value, bfloat16* p) {
  hn::StoreU(narrow(value, p), Halves(), bits_at(p));
}
inline void store(Vector value, float16* p) {
  hn::StoreU(narrow(value, p), Halves(), bits_at(p));
}

// Whether a load or a store by a mask touches no memory that the mask leaves
// out.
template <class T>
inline constexpr bool kMasksMemory = HWY_ARCH_X86 &&
                                     (sizeof(T) >= sizeof(float) ||
                                      HWY_TARGET <= HWY_AVX3);

// The first `count` < kLanesOf<T> elements, the rest filled. Memory behind the
// last element may belong to nobody.
template <class T>
ComputedVector<T> load_part(const T* p, std::size_t count, Computed<T> fill) {
  const ComputedTag<T> all;
  if constexpr (!kMasksMemory<T>) {
    std::array<T, kLanesOf<T>> part;
    part.fill(T(fill));
    std::memcpy(part.data(), p, count * sizeof(T));
    return load(part.data());
  } else {
    const auto some = hn::FirstN(all, count);
    const auto rest = hn::Set(all, fill);
    if constexpr (sizeof(T) == sizeof(Computed<T>)) {
      return hn::IfThenElse(some, hn::MaskedLoad(some, all, p), rest);
    } else {
      const auto bits =
          hn::MaskedLoad(hn::FirstN(Halves(), count), Halves(), bits_at(p));
      return hn::IfThenElse(some, widen(bits, p), rest);
    }
  }
}
template <class T>
void store_part(ComputedVector<T> value, T* p, std::size_t count) {
  const ComputedTag<T> all;
  if constexpr (!kMasksMemory<T>) {
    std::array<T, kLanesOf<T>> part;
    store(value, part.data());
    std::memcpy(p, part.data(), count * sizeof(T));
  } else if constexpr (sizeof(T) == sizeof(Computed<T>)) {
    hn::BlendedStore(value, hn::FirstN(all, count), all, p);
  } else {
    hn::BlendedStore(narrow(value, p), hn::FirstN(Halves(), count), Halves(),
                     bits_at(p));
  }
}

template <class V>
hn::TFromV<V> sum_lanes(V v) {
  return hn::GetLane(hn::SumOfLanes(hn::DFromV<V>(), v));
}
inline float max_lanes(Vector v) {
  return hn::GetLane(hn::MaxOfLanes(Floats(), v));
}

// All lanes of a vector, and the first few of the one at the end of a run, the
// rest of which is 0.
template <class T>
struct AllLanes {
  template <class X>
  ComputedVector<T> load(const X* p) const {
    return simd::load(p);
  }
  ComputedVector<T> keep(ComputedVector<T> v) const { return v; }
  template <class Y>
  void store(ComputedVector<T> v, Y* p) const {
    simd::store(v, p);
  }
};
template <class T>
struct SomeLanes {
  std::size_t count;

  template <class X>
  ComputedVector<T> load(const X* p) const {
    return load_part(p, count, Computed<X>{0});
  }
  ComputedVector<T> keep(ComputedVector<T> v) const {
    return hn::IfThenElseZero(hn::FirstN(ComputedTag<T>(), count), v);
  }
  template <class Y>
  void store(ComputedVector<T> v, Y* p) const {
    store_part(v, p, count);
  }
};

// Calls body(i, lanes, chain) for the vectors of `count` elements of T, from
// element i on. The chain, below kChains, is that of a sum: a few of them hide
// the latency of an addition.
inline constexpr std::size_t kChains = 4;
template <class T, class Body>
HWY_INLINE void for_each_vector_of(std::size_t count, Body&& body) {
  constexpr std::size_t kStep = kLanesOf<T>;
  std::size_t i = 0;
  for (; i + kChains * kStep <= count; i += kChains * kStep) {
    body(i, AllLanes<T>(), 0);
    body(i + kStep, AllLanes<T>(), 1);
    body(i + 2 * kStep, AllLanes<T>(), 2);
    body(i + 3 * kStep, AllLanes<T>(), 3);
  }
  for (; i + kStep <= count; i += kStep) body(i, AllLanes<T>(), 0);
  if (i < count) body(i, SomeLanes<T>{count - i}, 1);
}

// A sum in such chains.
template <class T>
struct ChainedSum {
  ComputedVector<T> chains[kChains];

  ChainedSum() {
    for (auto& chain : chains) chain = hn::Zero(ComputedTag<T>());
  }
  Computed<T> total() const {
    return sum_lanes(
        hn::Add(hn::Add(chains[0], chains[1]), hn::Add(chains[2], chains[3])));
  }
};

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
