// Factors of one matrix of doubles, rows one behind another: the references of
// ops/linalg.h, and what their kernels share with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace weft {

// False if the matrix is not positive definite. Reads both triangles of `a`, as
// (a + aᵀ) / 2; `l` is filled whole.
bool cholesky_factor(std::int64_t n, const double* a, double* l);
// Solves a triangle; overwrites b [n, m].
template <class T>
void substitute_rows(std::int64_t n, std::int64_t m, const T* a, T* b,
                     bool lower, bool transpose, bool unit_diagonal) {
  // The transpose of a lower triangle is an upper one.
  const bool forwards = lower != transpose;
  const auto element = [&](std::int64_t i, std::int64_t j) {
    return transpose ? a[j * n + i] : a[i * n + j];
  };
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = forwards ? step : n - 1 - step;
    for (std::int64_t column = 0; column < m; ++column) {
      T sum = b[i * m + column];
      for (std::int64_t j = forwards ? 0 : i + 1; j < (forwards ? i : n); ++j) {
        sum -= element(i, j) * b[j * m + column];
      }
      b[i * m + column] = unit_diagonal ? sum : sum / element(i, i);
    }
  }
}

// Turns `a` [n, n] into l and u, l without its diagonal of ones, and numbers
// its rows in `order`, as pivots took them; returns the sign of that
// permutation.
double lu_factors(std::int64_t n, double* a, double* order);
// a [m, n] = q [m, n] r [n, n], m >= n.
void qr_factors(std::int64_t m, std::int64_t n, const double* a, double* q,
                double* r);
// Eigenvalues, ascending, and eigenvectors, as columns, of (a + aᵀ) / 2 [n, n].
void eigen_factors(std::int64_t n, const double* a, double* values,
                   double* vectors);
// a [m, n] = u [m, k] diag(s [k]) vt [k, n].
void singular_factors(std::int64_t m, std::int64_t n, const double* a,
                      double* u, double* s, double* vt);

// Turns the columns of `vectors` [rows, columns] so that the number of each
// that is farthest from 0 is positive, and the rows of `partner` [columns,
// width] with them. `farthest` is memory for a number of each column.
template <class T>
void orient_columns(std::int64_t rows, std::int64_t columns, T* vectors,
                    T* farthest, T* partner = nullptr, std::int64_t width = 0) {
  std::fill_n(farthest, columns, T(0));
  // Rows are contiguous, and so columns are looked at side by side.
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const T x = vectors[i * columns + j];
      farthest[j] = std::fabs(x) > std::fabs(farthest[j]) ? x : farthest[j];
    }
  // A sign is free in each pair of vectors. Fixing it makes all methods and
  // kernels agree.
  T* const signs = farthest;
  for (std::int64_t j = 0; j < columns; ++j) {
    signs[j] = farthest[j] < 0 ? T(-1) : T(1);
  }
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      vectors[i * columns + j] *= signs[j];
    }
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < width; ++i) partner[j * width + i] *= signs[j];
}

// NaN and infinity times 0 are NaN, which unlike a function's call is found in
// whole vectors.
template <class T>
bool is_all_finite(std::span<const T> numbers) {
  int found = 0;
  for (const T x : numbers) found |= !(x * 0 == 0);
  return found == 0;
}
// Whether some are not: then fills the results with NaN.
bool spoil_factors(std::span<const double> a,
                   std::initializer_list<std::span<double>> results);

}  // namespace weft
