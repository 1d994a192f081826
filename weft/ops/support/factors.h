// Factors of one matrix of doubles, rows one behind another: the references of
// ops/linalg.h, and what their kernels share with them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

namespace weft {

// False if the matrix is not positive definite. Reads both triangles of `a`, as
// (a + aᵀ) / 2; `l` is filled whole.
bool cholesky_factor(std::int64_t n, const double* a, double* l);
// Overwrites b [n, m].
void substitute_rows(std::int64_t n, std::int64_t m, const double* a, double* b,
                     bool lower, bool transpose, bool unit_diagonal);
// a [m, n] = q [m, n] r [n, n], m >= n.
void qr_factors(std::int64_t m, std::int64_t n, const double* a, double* q,
                double* r);
// Of (a + aᵀ) / 2 [n, n].
void eigen_factors(std::int64_t n, const double* a, double* values,
                   double* vectors);
// a [m, n] = u [m, k] diag(s [k]) vt [k, n].
void singular_factors(std::int64_t m, std::int64_t n, const double* a,
                      double* u, double* s, double* vt);

// Turns the columns of `vectors` [rows, columns] so that the number of each
// that is farthest from 0 is positive, and the rows of `partner` [columns,
// width] with them.
void orient_columns(std::int64_t rows, std::int64_t columns, double* vectors,
                    double* partner = nullptr, std::int64_t width = 0);

bool is_all_finite(std::span<const double> numbers);
// Whether some are not: then fills the results with NaN.
bool spoil_factors(std::span<const double> a,
                   std::initializer_list<std::span<double>> results);

}  // namespace weft
