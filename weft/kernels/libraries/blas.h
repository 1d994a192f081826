// BLAS's product in both its dtypes, for row-major matrices.
//
// OpenBLAS computes on OpenMP's threads, as all else; within a parallel_for
// each call takes one. WEFT_CPU does not bound its instructions.
//
// Threads: safe from any.
#pragma once

#include <cblas.h>
#include <cstdint>
#include <limits>

namespace weft {

// A row-major operand: its transpose is read if asked for. `stride` is the
// distance between rows as they lie in memory.
template <class T>
struct BlasMatrix {
  const T* data;
  std::int64_t stride;
  bool transpose = false;
};

// c = a b + beta c, with a [m, k], b [k, n] once transposed as asked, and c
// [m, n] with `c_stride` between rows. No size is 0 or beyond kMostOfBlas.
template <class T>
void blas_product(std::int64_t m, std::int64_t n, std::int64_t k,
                  const BlasMatrix<T>& a, const BlasMatrix<T>& b, T beta, T* c,
                  std::int64_t c_stride) noexcept {
  const auto mode = [](const BlasMatrix<T>& matrix) {
    return matrix.transpose ? CblasTrans : CblasNoTrans;
  };
  const auto multiply = [&](auto function) {
    function(CblasRowMajor, mode(a), mode(b), static_cast<blasint>(m),
             static_cast<blasint>(n), static_cast<blasint>(k), T(1), a.data,
             static_cast<blasint>(a.stride), b.data,
             static_cast<blasint>(b.stride), beta, c,
             static_cast<blasint>(c_stride));
  };
  if constexpr (sizeof(T) == sizeof(float)) {
    multiply(cblas_sgemm);
  } else {
    multiply(cblas_dgemm);
  }
}

// It counts with 32 bits here.
inline constexpr std::int64_t kMostOfBlas = std::numeric_limits<blasint>::max();

}  // namespace weft
