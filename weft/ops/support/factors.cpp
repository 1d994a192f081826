#include "weft/ops/support/factors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "weft/base/index.h"

namespace weft {
namespace {

// More sweeps than rotations of any matrix take to converge.
constexpr int kMostSweeps = 60;

// The rotation that makes the off-diagonal number of [[p, x], [x, q]] zero
// (Golub and Van Loan, "Matrix computations", 2013, 8.5.2).
struct Rotation {
  double cosine, sine;

  Rotation(double p, double q, double x) {
    // `t` is the smaller of the two tangents that do it: the angle is at most
    // π/4, which makes sweeps converge, and nothing cancels.
    const double tau = (q - p) / (2 * x);
    const double t =
        (tau >= 0 ? 1 : -1) / (std::fabs(tau) + std::sqrt(1 + tau * tau));
    cosine = 1 / std::sqrt(1 + t * t);
    sine = t * cosine;
  }
  void turn(double& a, double& b) const {
    const double old = a;
    a = cosine * old - sine * b;
    b = sine * old + cosine * b;
  }
};

std::vector<double> identity_matrix(std::int64_t n) {
  std::vector<double> matrix(at(n * n));
  for (std::int64_t i = 0; i < n; ++i) matrix[at(i * n + i)] = 1;
  return matrix;
}

std::vector<std::int64_t> sorted_places(const std::vector<double>& values,
                                        bool descending) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  // Equal values keep their order, so that results are the same on every
  // machine.
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return descending ? values[at(b)] < values[at(a)]
                      : values[at(a)] < values[at(b)];
  });
  return order;
}

// Rotates the columns of `a` [m, n] until they are orthogonal (Hestenes, 1958),
// and those of `v` [n, n] with them.
void orthogonalise(std::int64_t m, std::int64_t n, std::vector<double>& a,
                   std::vector<double>& v) {
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool is_done = true;
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        // One-sided rotations work on the columns themselves and never form
        // aᵀa, whose condition number would be the square of a's.
        double pp = 0, qq = 0, pq = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          const double x = a[at(i * n + p)], y = a[at(i * n + q)];
          pp += x * x;
          qq += y * y;
          pq += x * y;
        }
        // That is zero to the precision of a double, against the lengths of
        // both columns.
        if (std::fabs(pq) <= 1e-16 * std::sqrt(pp * qq)) continue;
        is_done = false;
        const Rotation rotation(pp, qq, pq);
        for (std::int64_t i = 0; i < m; ++i) {
          rotation.turn(a[at(i * n + p)], a[at(i * n + q)]);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          rotation.turn(v[at(i * n + p)], v[at(i * n + q)]);
        }
      }
    if (is_done) return;
  }
}

}  // namespace

bool cholesky_factor(std::int64_t n, const double* a, double* l) {
  std::fill_n(l, n * n, 0.0);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      // The symmetric part is factored. Its gradient is symmetric then, and
      // agrees with finite differences in single elements.
      double sum = (a[i * n + j] + a[j * n + i]) / 2;
      for (std::int64_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      // The comparison is written so that NaN fails it, too.
      if (i == j && !(sum > 0)) return false;
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  }
  return true;
}

double lu_factors(std::int64_t n, double* a, double* order) {
  std::iota(order, order + n, 0.0);
  double sign = 1;
  for (std::int64_t j = 0; j < n; ++j) {
    // The largest pivot keeps the factors from growing; the first of equals is
    // taken.
    std::int64_t pivot = j;
    for (std::int64_t i = j + 1; i < n; ++i) {
      if (std::fabs(a[i * n + j]) > std::fabs(a[pivot * n + j])) pivot = i;
    }
    if (pivot != j) {
      std::swap_ranges(a + j * n, a + j * n + n, a + pivot * n);
      std::swap(order[j], order[pivot]);
      sign = -sign;
    }
    // A column of zeros alone has nothing to take away.
    if (a[j * n + j] == 0) continue;
    for (std::int64_t i = j + 1; i < n; ++i) {
      const double factor = a[i * n + j] /= a[j * n + j];
      for (std::int64_t c = j + 1; c < n; ++c) {
        a[i * n + c] -= factor * a[j * n + c];
      }
    }
  }
  return sign;
}

// Gram and Schmidt, twice, which is enough (Giraud et al., 2005).
void qr_factors(std::int64_t m, std::int64_t n, const double* a, double* q,
                double* r) {
  std::copy_n(a, m * n, q);
  std::fill_n(r, n * n, 0.0);
  // One round leaves errors that grow with the condition number; the second
  // takes them away.
  for (std::int64_t j = 0; j < n; ++j) {
    for (int round = 0; round < 2; ++round) {
      for (std::int64_t k = 0; k < j; ++k) {
        double share = 0;
        for (std::int64_t i = 0; i < m; ++i)
          share += q[i * n + k] * q[i * n + j];
        // Subtracting at once, before the next share is computed, is the
        // modified form, which loses less than all shares of the old column.
        for (std::int64_t i = 0; i < m; ++i)
          q[i * n + j] -= share * q[i * n + k];
        r[k * n + j] += share;
      }
    }
    double square = 0;
    for (std::int64_t i = 0; i < m; ++i) square += q[i * n + j] * q[i * n + j];
    r[j * n + j] = std::sqrt(square);
    for (std::int64_t i = 0; i < m; ++i) q[i * n + j] /= r[j * n + j];
  }
}

// Jacobi's method, row by row.
void eigen_factors(std::int64_t n, const double* a, double* values,
                   double* vectors) {
  std::vector<double> s(at(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      s[at(i * n + j)] = (a[i * n + j] + a[j * n + i]) / 2;
    }
  std::vector<double> v = identity_matrix(n);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool is_done = true;
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double x = s[at(p * n + q)];
        const double pp = s[at(p * n + p)], qq = s[at(q * n + q)];
        // What is left is lost in rounding beside either diagonal number.
        if (std::fabs(x) <= 1e-17 * (std::fabs(pp) + std::fabs(qq))) continue;
        is_done = false;
        const Rotation rotation(pp, qq, x);
        for (std::int64_t i = 0; i < n; ++i) {
          rotation.turn(s[at(i * n + p)], s[at(i * n + q)]);
          rotation.turn(v[at(i * n + p)], v[at(i * n + q)]);
        }
        // The rotation acts from both sides, which keeps the matrix symmetric
        // and its eigenvalues.
        for (std::int64_t i = 0; i < n; ++i) {
          rotation.turn(s[at(p * n + i)], s[at(q * n + i)]);
        }
      }
    if (is_done) break;
  }
  std::vector<double> found;
  for (std::int64_t i = 0; i < n; ++i) found.push_back(s[at(i * n + i)]);
  const auto order = sorted_places(found, /*descending=*/false);
  for (std::int64_t j = 0; j < n; ++j) {
    values[j] = found[at(order[at(j)])];
    for (std::int64_t i = 0; i < n; ++i) {
      vectors[i * n + j] = v[at(i * n + order[at(j)])];
    }
  }
  std::vector<double> farthest(at(n));
  orient_columns(n, n, vectors, farthest.data());
}

void singular_factors(std::int64_t m, std::int64_t n, const double* a,
                      double* u, double* s, double* vt) {
  // A wide matrix is the transpose of a tall one.
  const bool is_wide = m < n;
  const std::int64_t rows = std::max(m, n), k = std::min(m, n);
  std::vector<double> tall(at(rows * k));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < k; ++j) {
      tall[at(i * k + j)] = is_wide ? a[j * n + i] : a[i * n + j];
    }
  // Rotations a V = U S make columns orthogonal: their lengths are the singular
  // values.
  std::vector<double> turned = identity_matrix(k);
  orthogonalise(rows, k, tall, turned);
  std::vector<double> norms(at(k));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < k; ++j) {
      norms[at(j)] += tall[at(i * k + j)] * tall[at(i * k + j)];
    }
  for (double& norm : norms) norm = std::sqrt(norm);
  const auto order = sorted_places(norms, /*descending=*/true);
  for (std::int64_t j = 0; j < k; ++j) {
    const std::int64_t from = order[at(j)];
    s[j] = norms[at(from)];
    // A matrix that lacks a rank has no direction there.
    const double factor = s[j] == 0 ? 0 : 1 / s[j];
    for (std::int64_t i = 0; i < rows; ++i) {
      const double x = tall[at(i * k + from)] * factor;
      (is_wide ? vt[j * n + i] : u[i * k + j]) = x;
    }
    for (std::int64_t i = 0; i < k; ++i) {
      const double x = turned[at(i * k + from)];
      (is_wide ? u[i * k + j] : vt[j * n + i]) = x;
    }
  }
  std::vector<double> farthest(at(k));
  orient_columns(m, k, u, farthest.data(), vt, n);
}

bool spoil_factors(std::span<const double> a,
                   std::initializer_list<std::span<double>> results) {
  if (is_all_finite(a)) return false;
  for (const auto& result : results) {
    std::ranges::fill(result, std::numeric_limits<double>::quiet_NaN());
  }
  return true;
}

}  // namespace weft
