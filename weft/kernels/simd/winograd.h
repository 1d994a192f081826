// Transforms of Winograd's minimal filtering: 16 results of a window of 3 x 3
// by 36 products, where sums of windows take 144, and likewise for other small
// windows (Lavin and Gray, "Fast algorithms for convolutional neural networks",
// 2016).
//
// Along one axis, 6 numbers of an image and the weights of a window are
// polynomials whose product is known by its values at six points: 0, a, -a, b,
// -b and infinity. A window of 3 then gives 4 results, one of 5 gives 2; one of
// 1 is left as it is. Lavin and Gray take a = 1 and b = 2. With 2/3 and 3/2 the
// error of f32 is smaller, one to three times that of sums
// (Barabasz et al., "Error analysis and improving the accuracy of Winograd
// convolution for deep neural networks", 2020, have the theory), and as their
// product is 1, so is a coefficient.
//
// Threads: pure functions.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_WINOGRAD_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_WINOGRAD_H_
#undef WEFT_KERNELS_SIMD_WINOGRAD_H_
#else
#define WEFT_KERNELS_SIMD_WINOGRAD_H_
#endif

#include <array>

#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// Points along an axis, and results, for a window of 1, 3 or 5.
template <std::size_t kWindow>
inline constexpr std::size_t kWinogradPoints = kWindow == 1 ? 1 : 6;
template <std::size_t kWindow>
inline constexpr std::size_t kWinogradResults =
    kWinogradPoints<kWindow> - kWindow + 1;

inline constexpr float kPointA = 2.f / 3;
inline constexpr float kPointB = 3.f / 2;
inline constexpr float kSquareA = kPointA * kPointA;
inline constexpr float kSquareB = kPointB * kPointB;
// One over the product of (p - q) over all finite points q but p, for p = a and
// b. It is the same for -a and -b, and 1 for 0.
inline constexpr float kOverA = 1 / (2 * kSquareA * (kSquareA - kSquareB));
inline constexpr float kOverB = 1 / (2 * kSquareB * (kSquareB - kSquareA));

// What it takes to be at the points: 1, or one over that product.
struct WinogradPlain {
  static constexpr float kOfA = 1, kOfB = 1;
};
struct WinogradScaled {
  static constexpr float kOfA = kOverA, kOfB = kOverB;
};

inline constexpr float winograd_power(float point, std::size_t exponent) {
  float power = 1;
  for (std::size_t i = 0; i < exponent; ++i) power *= point;
  return power;
}

// The polynomial of kTerms coefficients `x` at the six points, times what
// `Scale` says.
template <std::size_t kTerms, class Scale>
HWY_INLINE void winograd_evaluate(const Vector* x, Vector* at_points) {
  const auto pair = [&](float point, float scale, Vector* to) HWY_ATTR {
    const auto sum = [&](std::size_t first) HWY_ATTR {
      Vector terms =
          hn::Mul(broadcast(scale * winograd_power(point, first)), x[first]);
      for (std::size_t i = first + 2; i < kTerms; i += 2) {
        terms = hn::MulAdd(broadcast(scale * winograd_power(point, i)), x[i],
                           terms);
      }
      return terms;
    };
    const Vector even = sum(0);
    const Vector odd = sum(1);
    to[0] = hn::Add(even, odd);
    to[1] = hn::Sub(even, odd);
  };
  at_points[0] = x[0];
  pair(kPointA, Scale::kOfA, at_points + 1);
  pair(kPointB, Scale::kOfB, at_points + 3);
  at_points[5] = x[kTerms - 1];
}

// The transpose of winograd_evaluate(): kTerms sums of values at the points.
template <std::size_t kTerms, class Scale>
HWY_INLINE void winograd_combine(const Vector* at_points, Vector* y) {
  const Vector even_a = hn::Add(at_points[1], at_points[2]);
  const Vector odd_a = hn::Sub(at_points[1], at_points[2]);
  const Vector even_b = hn::Add(at_points[3], at_points[4]);
  const Vector odd_b = hn::Sub(at_points[3], at_points[4]);
  for (std::size_t i = 0; i < kTerms; ++i) {
    const float of_a = Scale::kOfA * winograd_power(kPointA, i);
    const float of_b = Scale::kOfB * winograd_power(kPointB, i);
    y[i] = hn::MulAdd(broadcast(of_a), i % 2 == 0 ? even_a : odd_a,
                      hn::Mul(broadcast(of_b), i % 2 == 0 ? even_b : odd_b));
  }
  y[0] = hn::Add(y[0], at_points[0]);
  y[kTerms - 1] = hn::Add(y[kTerms - 1], at_points[5]);
}

// Transforms along an axis of a window, from kFrom vectors to kTo.

// The image at the points: row p of the matrix has the coefficients of the
// product of (x - q) over all finite points q but p.
template <std::size_t kWindow>
struct WinogradImage {
  static constexpr std::size_t kFrom = kWinogradPoints<kWindow>;
  static constexpr std::size_t kTo = kFrom;
  static HWY_INLINE void apply(const Vector* x, Vector* at_points) {
    const Vector even_a = hn::NegMulAdd(broadcast(kSquareB), x[2], x[4]);
    const Vector odd_a = hn::NegMulAdd(broadcast(kSquareB), x[1], x[3]);
    const Vector even_b = hn::NegMulAdd(broadcast(kSquareA), x[2], x[4]);
    const Vector odd_b = hn::NegMulAdd(broadcast(kSquareA), x[1], x[3]);
    const Vector squares = broadcast(kSquareA + kSquareB);
    at_points[0] = hn::NegMulAdd(squares, x[2], hn::Add(x[0], x[4]));
    at_points[1] = hn::MulAdd(broadcast(kPointA), odd_a, even_a);
    at_points[2] = hn::NegMulAdd(broadcast(kPointA), odd_a, even_a);
    at_points[3] = hn::MulAdd(broadcast(kPointB), odd_b, even_b);
    at_points[4] = hn::NegMulAdd(broadcast(kPointB), odd_b, even_b);
    at_points[5] = hn::NegMulAdd(squares, x[3], hn::Add(x[1], x[5]));
  }
};

// Weights at the points.
template <std::size_t kWindow>
struct WinogradWeights {
  static constexpr std::size_t kFrom = kWindow;
  static constexpr std::size_t kTo = kWinogradPoints<kWindow>;
  static HWY_INLINE void apply(const Vector* w, Vector* at_points) {
    winograd_evaluate<kWindow, WinogradScaled>(w, at_points);
  }
};

// Results, of products at the points.
template <std::size_t kWindow>
struct WinogradOutput {
  static constexpr std::size_t kFrom = kWinogradPoints<kWindow>;
  static constexpr std::size_t kTo = kWinogradResults<kWindow>;
  static HWY_INLINE void apply(const Vector* at_points, Vector* y) {
    winograd_combine<kTo, WinogradPlain>(at_points, y);
  }
};

// The transposes of the last two: gradients of results at the points, and those
// there as gradients of weights.
template <std::size_t kWindow>
struct WinogradOutputGradient {
  static constexpr std::size_t kFrom = kWinogradResults<kWindow>;
  static constexpr std::size_t kTo = kWinogradPoints<kWindow>;
  static HWY_INLINE void apply(const Vector* dy, Vector* at_points) {
    winograd_evaluate<kFrom, WinogradPlain>(dy, at_points);
  }
};
template <std::size_t kWindow>
struct WinogradWeightsGradient {
  static constexpr std::size_t kFrom = kWinogradPoints<kWindow>;
  static constexpr std::size_t kTo = kWindow;
  static HWY_INLINE void apply(const Vector* at_points, Vector* dw) {
    winograd_combine<kWindow, WinogradScaled>(at_points, dw);
  }
};

// Along an axis of one pixel nothing changes.
template <class Transform>
HWY_INLINE void winograd_along(const Vector* from, Vector* to) {
  if constexpr (Transform::kFrom == 1 && Transform::kTo == 1) {
    to[0] = from[0];
  } else {
    Transform::apply(from, to);
  }
}

// `OfRows` along columns and then `OfColumns` along rows. `load(i, j)` gives
// row i, column j; `store(i, j, v)` takes it.
template <class OfRows, class OfColumns, class Load, class Store>
HWY_INLINE void winograd_both_ways(Load&& load, Store&& store) {
  Vector half[OfRows::kTo][OfColumns::kFrom];
  for (std::size_t j = 0; j < OfColumns::kFrom; ++j) {
    Vector column[OfRows::kFrom];
    Vector to[OfRows::kTo];
    for (std::size_t i = 0; i < OfRows::kFrom; ++i) column[i] = load(i, j);
    winograd_along<OfRows>(column, to);
    for (std::size_t i = 0; i < OfRows::kTo; ++i) half[i][j] = to[i];
  }
  for (std::size_t i = 0; i < OfRows::kTo; ++i) {
    Vector to[OfColumns::kTo];
    winograd_along<OfColumns>(half[i], to);
    for (std::size_t j = 0; j < OfColumns::kTo; ++j) store(i, j, to[j]);
  }
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // per target
