// What reductions and the places of extreme elements share: numbers that fold
// into one, in independent chains.
//
// Compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_FOLD_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_FOLD_H_
#undef WEFT_KERNELS_SIMD_FOLD_H_
#else
#define WEFT_KERNELS_SIMD_FOLD_H_
#endif

#include <algorithm>
#include <hwy/highway.h>
#include <limits>

#include "weft/ops/support/scalar_functions.h"
#include "weft/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::folds {

constexpr std::int64_t kLanes = 64;  // accumulators of a run

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

struct Sum {
  template <class A>
  static constexpr A identity = A{0};
  template <class A>
  static A fold(A a, A b) {
    return kAdd(a, b);
  }
};

struct Product {
  template <class A>
  static constexpr A identity = A{1};
  template <class A>
  static A fold(A a, A b) {
    return kMultiply(a, b);
  }
};

// NaN wins on either side: (b != b) takes it, and nothing beats it after. Asked
// so, the processor's own maximum does the rest.
struct Max {
  template <class A>
  static constexpr A identity = std::numeric_limits<A>::has_infinity
                                    ? -std::numeric_limits<A>::infinity()
                                    : std::numeric_limits<A>::lowest();
  template <class A>
  static bool beats(A a, A b) {
    return a > b;
  }
  template <class A>
  static A fold(A a, A b) {
    const A most = beats(b, a) ? b : a;
    return b != b ? b : most;
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
  template <class A>
  static A fold(A a, A b) {
    const A most = beats(b, a) ? b : a;
    return b != b ? b : most;
  }
};

struct Any {
  template <class A>
  static constexpr A identity = A{0};
  template <class A>
  static A fold(A a, A b) {
    return static_cast<A>(a | b);
  }
};

struct All {
  template <class A>
  static constexpr A identity = A{1};
  template <class A>
  static A fold(A a, A b) {
    return static_cast<A>(a & b);
  }
};

// One contiguous run, into independent chains of additions.
template <class Op, std::int64_t kChains, class T>
Accumulator<T> fold_chains(const T* x, std::int64_t size) {
  using A = Accumulator<T>;
  A lanes[kChains];
  std::fill_n(lanes, kChains, Op::template identity<A>);
  std::int64_t i = 0;
  for (; i + kChains <= size; i += kChains) {
    for (std::int64_t lane = 0; lane < kChains; ++lane) {
      lanes[lane] = Op::fold(lanes[lane], widen(x[i + lane]));
    }
  }
  for (std::int64_t lane = 0; lane < size - i; ++lane) {
    lanes[lane] = Op::fold(lanes[lane], widen(x[i + lane]));
  }
  for (std::int64_t half = kChains / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) {
      lanes[lane] = Op::fold(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

template <class Op, class T>
Accumulator<T> fold_run(const T* x, std::int64_t size) {
  if (size >= kLanes) return fold_chains<Op, kLanes>(x, size);
  return fold_chains<Op, 4>(x, size);
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

// For dtypes that declines_fold() lets pass (folder.h).
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
