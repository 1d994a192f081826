#include "weft/kernels/simd/tridiagonal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/tridiagonal.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>
#include <limits>

#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"

// Tiles on the diagonal are kept whole, both halves of them, so that no vector
// has to be cut.
#ifndef WEFT_TRIDIAGONAL_TILE
#define WEFT_TRIDIAGONAL_TILE
namespace weft {
inline constexpr std::int64_t kTridiagonalTile = 16;
}  // namespace weft
#endif

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

template <class T>
class Tridiagonalization {
 public:
  Tridiagonalization(std::int64_t n, T* a, T* work)
      : n_(n),
        stride_(tridiagonal_stride(n)),
        a_(a),
        v_(work),
        w_(work + stride_),
        next_(work + 2 * stride_),
        product_(work + 3 * stride_) {
    std::fill_n(work, kTridiagonalRows * stride_, T(0));
  }

  void run(T* diagonal, T* beside, T* factors) {
    for (std::int64_t row = n_ - 1; row > 0; --row) {
      update_row(row);
      diagonal[row] = a_[row * stride_ + row];
      factors[row - 1] = reflect(row, &beside[row - 1]);
      update_and_multiply(row);
      std::swap(v_, next_);
      find_partner(row, factors[row - 1]);
    }
    update_row(0);
    diagonal[0] = a_[0];
  }

 private:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t kLanes = hn::MaxLanes(D());
  // Below it sums of squares have lost digits, and a vector by them would be of
  // no reflection. Such numbers are far below a rounding of 1, which others of
  // the matrix are about, and are left out.
  static constexpr T kLeastSquares = std::numeric_limits<T>::min() /
                                     std::numeric_limits<T>::epsilon() /
                                     std::numeric_limits<T>::epsilon();
  // Each row takes four registers besides those that all share.
  static constexpr std::int64_t kRows = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

  // A row is done once it is updated. Where v and w are 0 from then on, later
  // passes leave it as it is.
  void update_row(std::int64_t row) {
    const D d;
    T* a = a_ + row * stride_;
    const V v = hn::Set(d, v_[row]), w = hn::Set(d, w_[row]);
    for (std::int64_t j = 0; j <= row; j += kLanes) {
      const V element =
          hn::NegMulAdd(v, hn::LoadU(d, w_ + j), hn::LoadU(d, a + j));
      hn::StoreU(hn::NegMulAdd(w, hn::LoadU(d, v_ + j), element), d, a + j);
    }
    v_[row] = w_[row] = 0;
  }

  // Finds the reflection that leaves the last number alone of those before the
  // diagonal, and returns its τ. Its vector ends with 1 (LAPACK's larfg).
  T reflect(std::int64_t row, T* beside) {
    T* a = a_ + row * stride_;
    const std::int64_t last = row - 1;
    std::copy_n(a, last, next_);
    std::fill(next_ + last, next_ + stride_, T(0));
    const T squares = dot(row, next_, next_);
    T factor = 0, scale = 0;
    *beside = a[last];
    if (squares > kLeastSquares) {
      *beside = -std::copysign(std::sqrt(a[last] * a[last] + squares), a[last]);
      factor = (*beside - a[last]) / *beside;
      scale = 1 / (a[last] - *beside);
    }
    for (std::int64_t j = 0; j < last; ++j) next_[j] *= scale;
    next_[last] = 1;
    std::copy_n(next_, row, a);
    return factor;
  }

  // A -= v wᵀ + w vᵀ, and A times the next vector.
  void update_and_multiply(std::int64_t rows) {
    std::fill_n(product_, stride_, T(0));
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const std::int64_t tile = row / kTridiagonalTile * kTridiagonalTile;
      update_rows(row, tile);
    }
  }

  void update_rows(std::int64_t row, std::int64_t tile) {
    const D d;
    V v[kRows], w[kRows], x[kRows], sums[kRows];
    for (std::int64_t k = 0; k < kRows; ++k) {
      v[k] = hn::Set(d, v_[row + k]);
      w[k] = hn::Set(d, w_[row + k]);
      x[k] = hn::Set(d, next_[row + k]);
      sums[k] = hn::Zero(d);
    }
    T* a = a_ + row * stride_;
    const auto update = [&](std::int64_t j, auto&& each) {
      const V v_j = hn::LoadU(d, v_ + j), w_j = hn::LoadU(d, w_ + j);
      const V x_j = hn::LoadU(d, next_ + j);
      for (std::int64_t k = 0; k < kRows; ++k) {
        T* at = a + k * stride_ + j;
        V element = hn::NegMulAdd(v[k], w_j, hn::LoadU(d, at));
        element = hn::NegMulAdd(w[k], v_j, element);
        hn::StoreU(element, d, at);
        sums[k] = hn::MulAdd(element, x_j, sums[k]);
        each(element, k);
      }
    };
    for (std::int64_t j = 0; j < tile; j += kLanes) {
      V across = hn::LoadU(d, product_ + j);  // by the other triangle
      update(j, [&](V element, std::int64_t k) {
        across = hn::MulAdd(element, x[k], across);
      });
      hn::StoreU(across, d, product_ + j);
    }
    for (std::int64_t j = tile; j < tile + kTridiagonalTile; j += kLanes) {
      update(j, [](V, std::int64_t) {});
    }
    for (std::int64_t k = 0; k < kRows; ++k) {
      product_[row + k] += simd::sum_lanes(sums[k]);
    }
  }

  // w = τ A v - τ² (vᵀ A v) v / 2, by which Hᵀ A H is A - v wᵀ - w vᵀ.
  void find_partner(std::int64_t rows, T factor) {
    const T along = factor * factor * dot(rows, product_, v_) / 2;
    for (std::int64_t j = 0; j < rows; ++j) {
      w_[j] = factor * product_[j] - along * v_[j];
    }
    std::fill(w_ + rows, w_ + stride_, T(0));
  }

  // One of the two is 0 from `size` on.
  static T dot(std::int64_t size, const T* a, const T* b) {
    const D d;
    V sum = hn::Zero(d);
    for (std::int64_t j = 0; j < size; j += kLanes) {
      sum = hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), sum);
    }
    return simd::sum_lanes(sum);
  }

  std::int64_t n_, stride_;
  T* a_;
  T *v_, *w_;  // of the update that is due
  T *next_, *product_;
};

template <class T>
void reduce(std::int64_t n, T* a, T* diagonal, T* beside, T* factors, T* work) {
  Tridiagonalization<T>(n, a, work).run(diagonal, beside, factors);
}

void reduce_f32(std::int64_t n, float* a, float* diagonal, float* beside,
                float* factors, float* work) {
  reduce(n, a, diagonal, beside, factors, work);
}
void reduce_f64(std::int64_t n, double* a, double* diagonal, double* beside,
                double* factors, double* work) {
  reduce(n, a, diagonal, beside, factors, work);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

std::int64_t tridiagonal_stride(std::int64_t n) {
  return (n + kTridiagonalTile - 1) / kTridiagonalTile * kTridiagonalTile;
}

void make_tridiagonal(std::int64_t n, float* a, float* diagonal, float* beside,
                      float* factors, float* work) {
  WEFT_FOR_MACHINE(reduce_f32)(n, a, diagonal, beside, factors, work);
}
void make_tridiagonal(std::int64_t n, double* a, double* diagonal,
                      double* beside, double* factors, double* work) {
  WEFT_FOR_MACHINE(reduce_f64)(n, a, diagonal, beside, factors, work);
}

}  // namespace weft
#endif
