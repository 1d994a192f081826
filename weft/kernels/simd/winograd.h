// Transforms of Winograd's minimal filtering F(4 x 4, 3 x 3): 16 results of a
// window of 3 x 3 by 36 products, where sums of windows take 144 (Lavin and
// Gray, "Fast algorithms for convolutional neural networks", 2016).
//
// In one dimension, 6 numbers of an image and 3 weights are polynomials whose
// product is known by its values at six points: 0, a, -a, b, -b and infinity.
// Lavin and Gray take a = 1 and b = 2. With 2/3 and 3/2 the error of f32 is
// half as large, some five times that of sums (Barabasz et al., "Error analysis
// and improving the accuracy of Winograd convolution", 2020, have the theory),
// and as their product is 1, so is a coefficient.
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

#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// Sides of a window, of the results of a tile, and of the image under them.
inline constexpr std::size_t kWinogradWindow = 3;
inline constexpr std::size_t kWinogradResults = 4;
inline constexpr std::size_t kWinogradPoints = 6;

inline constexpr float kPointA = 2.f / 3;
inline constexpr float kPointB = 3.f / 2;
inline constexpr float kSquareA = kPointA * kPointA;
inline constexpr float kSquareB = kPointB * kPointB;

// The image at the six points: row p of the matrix has the coefficients of the
// product of (x - q) over all finite points q but p.
HWY_INLINE void winograd_image(const Vector* x, Vector* at_points) {
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

// One over the product of (p - q) over all finite points q but p, for p = a and
// b. It is the same for -a and -b, and 1 for 0.
inline constexpr float kOverA = 1 / (2 * kSquareA * (kSquareA - kSquareB));
inline constexpr float kOverB = 1 / (2 * kSquareB * (kSquareB - kSquareA));

// The weights at the six points: 1, p and p squared, over that product.
HWY_INLINE void winograd_weights(const Vector* w, Vector* at_points) {
  const auto pair = [&](float point, float over, Vector* to) HWY_ATTR {
    const Vector even = hn::Mul(
        broadcast(over), hn::MulAdd(broadcast(point * point), w[2], w[0]));
    const Vector odd = hn::Mul(broadcast(over * point), w[1]);
    to[0] = hn::Add(even, odd);
    to[1] = hn::Sub(even, odd);
  };
  at_points[0] = w[0];
  pair(kPointA, kOverA, at_points + 1);
  pair(kPointB, kOverB, at_points + 3);
  at_points[5] = w[2];
}

// x of_x + y of_y.
HWY_INLINE Vector winograd_sum(float x, Vector of_x, float y, Vector of_y) {
  return hn::MulAdd(broadcast(x), of_x, hn::Mul(broadcast(y), of_y));
}

// Four results of products at the six points: row i of the matrix has the i-th
// powers of the points.
HWY_INLINE void winograd_results(const Vector* at_points, Vector* y) {
  const Vector even_a = hn::Add(at_points[1], at_points[2]);
  const Vector odd_a = hn::Sub(at_points[1], at_points[2]);
  const Vector even_b = hn::Add(at_points[3], at_points[4]);
  const Vector odd_b = hn::Sub(at_points[3], at_points[4]);
  y[0] = hn::Add(at_points[0], hn::Add(even_a, even_b));
  y[1] = winograd_sum(kPointA, odd_a, kPointB, odd_b);
  y[2] = winograd_sum(kSquareA, even_a, kSquareB, even_b);
  y[3] = hn::Add(at_points[5], winograd_sum(kPointA * kSquareA, odd_a,
                                            kPointB * kSquareB, odd_b));
}

// The transpose of winograd_results(): gradients of four results at the points.
HWY_INLINE void winograd_results_gradient(const Vector* dy, Vector* at_points) {
  const auto pair = [&](float point, Vector* to) HWY_ATTR {
    const float square = point * point;
    const Vector even = hn::MulAdd(broadcast(square), dy[2], dy[0]);
    const Vector odd = winograd_sum(point, dy[1], point * square, dy[3]);
    to[0] = hn::Add(even, odd);
    to[1] = hn::Sub(even, odd);
  };
  at_points[0] = dy[0];
  pair(kPointA, at_points + 1);
  pair(kPointB, at_points + 3);
  at_points[5] = dy[3];
}

// The transpose of winograd_weights(): gradients at the points as those of
// three weights.
HWY_INLINE void winograd_weights_gradient(const Vector* at_points, Vector* dw) {
  const Vector even_a = hn::Add(at_points[1], at_points[2]);
  const Vector odd_a = hn::Sub(at_points[1], at_points[2]);
  const Vector even_b = hn::Add(at_points[3], at_points[4]);
  const Vector odd_b = hn::Sub(at_points[3], at_points[4]);
  dw[0] = hn::Add(at_points[0], winograd_sum(kOverA, even_a, kOverB, even_b));
  dw[1] = winograd_sum(kOverA * kPointA, odd_a, kOverB * kPointB, odd_b);
  dw[2] = hn::Add(at_points[5], winograd_sum(kOverA * kSquareA, even_a,
                                             kOverB * kSquareB, even_b));
}

// A transform of the columns and then of the rows of a square of kFrom x kFrom
// vectors into one of kTo x kTo. `load(i, j)` gives row i, column j;
// `store(i, j, v)` takes it.
template <std::size_t kFrom, std::size_t kTo, class Transform, class Load,
          class Store>
HWY_INLINE void winograd_square(Transform&& transform, Load&& load,
                                Store&& store) {
  Vector half[kTo][kFrom];
  for (std::size_t j = 0; j < kFrom; ++j) {
    Vector column[kFrom];
    Vector to[kTo];
    for (std::size_t i = 0; i < kFrom; ++i) column[i] = load(i, j);
    transform(column, to);
    for (std::size_t i = 0; i < kTo; ++i) half[i][j] = to[i];
  }
  for (std::size_t i = 0; i < kTo; ++i) {
    Vector to[kTo];
    transform(half[i], to);
    for (std::size_t j = 0; j < kTo; ++j) store(i, j, to[j]);
  }
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // per target
