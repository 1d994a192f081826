// What reductions and the places of extreme elements share: numbers that fold
// into one, in independent chains.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_FOLD_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_FOLD_H_
#undef WEFT_KERNELS_SIMD_FOLD_H_
#else
#define WEFT_KERNELS_SIMD_FOLD_H_
#endif

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <hwy/highway.h>
#include <limits>

#include "weft/kernels/simd/lanes.h"
#include "weft/ops/support/scalar_functions.h"
#include "weft/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::folds {

namespace hn = hwy::HWY_NAMESPACE;

// What floats narrower than f32 and integers narrower than i64 add up in. Bools
// come as bytes, and need no more.
template <class T>
using Accumulator = std::conditional_t<
    std::is_same_v<T, std::uint8_t>, std::uint8_t,
    std::conditional_t<
        std::is_integral_v<T>, std::int64_t,
        std::conditional_t<std::is_same_v<T, double>, double, float>>>;

template <class T>
Accumulator<T> widen(T value) {
  return static_cast<Accumulator<T>>(value);
}

template <class A>
concept Number = std::integral<A> || std::floating_point<A>;

// What folds two numbers, or two vectors of them. Of two that are equal, either
// may be taken.
struct Sum {
  template <class A>
  static constexpr A identity = A{0};
  template <Number A>
  static A fold(A a, A b) {
    return kAdd(a, b);
  }
  template <class V>
  static V fold(V a, V b) {
    return hn::Add(a, b);
  }
};

struct Product {
  template <class A>
  static constexpr A identity = A{1};
  template <Number A>
  static A fold(A a, A b) {
    return kMultiply(a, b);
  }
  template <class V>
  static V fold(V a, V b) {
    return hn::Mul(a, b);
  }
};

// NaN wins on either side: asked for in b, and kept in a since Highway's
// maximum and minimum on x86 give the second of two that do not compare.
template <class V, class Extreme>
V unless_nan(V a, V b, Extreme&& extreme) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
    return hn::IfThenElse(hn::IsNaN(b), b, extreme(b, a));
  } else {
    return extreme(b, a);
  }
}

struct Max {
  template <class A>
  static constexpr A identity = std::numeric_limits<A>::has_infinity
                                    ? -std::numeric_limits<A>::infinity()
                                    : std::numeric_limits<A>::lowest();
  template <class A>
  static bool beats(A a, A b) {
    return a > b;
  }
  template <Number A>
  static A fold(A a, A b) {
    return (beats(b, a) || b != b) ? b : a;
  }
  template <class V>
  static V fold(V a, V b) {
    return unless_nan(a, b, [](V x, V y) { return hn::Max(x, y); });
  }
};

struct Min {
  template <class A>
  static constexpr A identity = std::numeric_limits<A>::has_infinity
                                    ? std::numeric_limits<A>::infinity()
                                    : std::numeric_limits<A>::max();
  template <class A>
  static bool beats(A a, A b) {
    return a < b;
  }
  template <Number A>
  static A fold(A a, A b) {
    return (beats(b, a) || b != b) ? b : a;
  }
  template <class V>
  static V fold(V a, V b) {
    return unless_nan(a, b, [](V x, V y) { return hn::Min(x, y); });
  }
};

struct Any {
  template <class A>
  static constexpr A identity = A{0};
  template <Number A>
  static A fold(A a, A b) {
    return static_cast<A>(a | b);
  }
  template <class V>
  static V fold(V a, V b) {
    return hn::Or(a, b);
  }
};

struct All {
  template <class A>
  static constexpr A identity = A{1};
  template <Number A>
  static A fold(A a, A b) {
    return static_cast<A>(a & b);
  }
  template <class V>
  static V fold(V a, V b) {
    return hn::And(a, b);
  }
};

template <class A>
using Tag = hn::ScalableTag<A>;
template <class A>
using VectorOf = hn::Vec<Tag<A>>;
template <class A>
constexpr std::int64_t kLanesOf =
    static_cast<std::int64_t>(hn::MaxLanes(Tag<A>()));

// A vector of elements, widened.
template <class T>
auto load(const T* x) {
  using A = Accumulator<T>;
  if constexpr (std::is_same_v<T, A>) {
    return hn::LoadU(Tag<A>(), x);
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return hn::PromoteTo(Tag<A>(), hn::LoadU(hn::Rebind<T, Tag<A>>(), x));
  } else {
    return simd::load(x);
  }
}

// The first `count` of them; the rest, which may belong to nobody, folds into
// nothing. Of integers, that is the widest number of T and not of its
// accumulator, which T could not hold.
template <class Op, class T>
auto load_part(const T* x, std::int64_t count) {
  if constexpr (!std::is_integral_v<T>) {
    return simd::load_part(x, static_cast<std::size_t>(count),
                           Op::template identity<Accumulator<T>>);
  } else {
    std::array<T, kLanesOf<Accumulator<T>>> part;
    part.fill(Op::template identity<T>);
    std::memcpy(part.data(), x, static_cast<std::size_t>(count) * sizeof(T));
    return load(part.data());
  }
}

// The lanes of a vector, into one: halves onto each other while they are
// vectors, then numbers.
template <class Op, class D>
hn::TFromD<D> fold_lanes(D d, hn::Vec<D> v) {
  constexpr std::size_t kCount = hn::MaxLanes(D());
  if constexpr (kCount * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> half;
    return fold_lanes<Op>(
        half, Op::fold(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    std::array<hn::TFromD<D>, kCount> lanes;
    hn::StoreU(v, d, lanes.data());
    for (std::size_t half = kCount / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) {
        lanes[i] = Op::fold(lanes[i], lanes[i + half]);
      }
    }
    return lanes[0];
  }
}

// One contiguous run. Four chains hide the latency of an addition; what is
// shorter than a vector is not worth one. The error of a sum is at most
// size / (4 lanes) + 8 roundings of the sum of magnitudes.
template <class Op, class T>
Accumulator<T> fold_run(const T* x, std::int64_t size) {
  using A = Accumulator<T>;
  constexpr std::int64_t kLanes = kLanesOf<A>;
  if (size < std::min<std::int64_t>(kLanes, 8)) {
    A total = Op::template identity<A>;
    for (std::int64_t i = 0; i < size; ++i) {
      total = Op::fold(total, widen(x[i]));
    }
    return total;
  }
  auto a = hn::Set(Tag<A>(), Op::template identity<A>);
  auto b = a;
  auto c = a;
  auto d = a;
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= size; i += 4 * kLanes) {
    a = Op::fold(a, load(x + i));
    b = Op::fold(b, load(x + i + kLanes));
    c = Op::fold(c, load(x + i + 2 * kLanes));
    d = Op::fold(d, load(x + i + 3 * kLanes));
  }
  for (; i + kLanes <= size; i += kLanes) a = Op::fold(a, load(x + i));
  if (i < size) {
    b = Op::fold(b, load_part<Op>(x + i, size - i));
  }
  return fold_lanes<Op>(Tag<A>(), Op::fold(Op::fold(a, b), Op::fold(c, d)));
}

// The first place of the extreme element of a run, or of its first NaN, which
// Op keeps. Whole vectors find the piece that it is in; an element at a time
// would look at half of the run for the place.
template <class Op, class T>
std::int64_t place_in_run(const T* x, std::int64_t size) {
  constexpr std::int64_t kPiece = 256;
  using A = Accumulator<T>;
  A best = Op::template identity<A>;
  std::int64_t place = 0;
  for (std::int64_t begin = 0; begin < size && best == best; begin += kPiece) {
    const A most = fold_run<Op>(x + begin, std::min(kPiece, size - begin));
    if (Op::beats(most, best) || most != most) {
      best = most;
      place = begin;
    }
  }
  const auto is_best = [&](A value) {
    return best == best ? value == best : value != value;
  };
  while (!is_best(widen(x[place]))) ++place;
  return place;
}

// Takes the dtypes that declines_fold() lets pass (folder.h).
template <class Body>
auto for_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF64:
      return body(double{});
    case DType::kBF16:
      return body(bfloat16{});
    case DType::kI32:
      return body(std::int32_t{});
    case DType::kI64:
      return body(std::int64_t{});
    default:
      return body(float{});
  }
}

}  // namespace weft::HWY_NAMESPACE::folds
HWY_AFTER_NAMESPACE();

#endif  // per target
