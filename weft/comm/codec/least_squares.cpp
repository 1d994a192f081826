#include "weft/comm/codec/least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/error.h"

namespace weft {
namespace {

// A diagonal element this much below the largest is rounding.
constexpr double kSmallestPivot = 1e-13;

}  // namespace

LeastSquares::LeastSquares(int unknowns)
    : unknowns_(static_cast<std::size_t>(unknowns)),
      elements_((unknowns_ + 1) * kRows) {
  WEFT_CHECK(unknowns >= 1 && unknowns_ + 1 < kRows);
}

void LeastSquares::add(std::span<const double> row, double right) {
  WEFT_CHECK(row.size() == unknowns_);
  // Rows are folded into the triangle as they come: memory does not grow with
  // their number, and a reflection is as exact as those of all rows at once.
  if (rows_ == kRows) triangularise();
  for (std::size_t i = 0; i < unknowns_; ++i) at(rows_, i) = row[i];
  at(rows_, unknowns_) = right;
  ++rows_;
}

void LeastSquares::triangularise() {
  const std::size_t columns = unknowns_ + 1;
  for (std::size_t j = 0; j < std::min(columns, rows_); ++j) {
    // The reflection that turns column j into (…, pivot, 0, …, 0).
    double* const pivot = &at(j, j);
    double* const end = &at(0, j) + rows_;
    const double norm = std::sqrt(std::inner_product(pivot, end, pivot, 0.0));
    // The column is zero from here on already.
    if (norm == 0) continue;
    // The sign is the other one, so that the difference below cancels no
    // digits.
    const double target = *pivot > 0 ? -norm : norm;
    *pivot -= target;
    const double scale = 1 / (norm * std::abs(*pivot));
    for (std::size_t k = j + 1; k < columns; ++k) {
      double* const other = &at(j, k);
      const double factor = scale * std::inner_product(pivot, end, other, 0.0);
      for (std::ptrdiff_t i = 0; i < end - pivot; ++i) {
        other[i] -= factor * pivot[i];
      }
    }
    *pivot = target;
    std::fill(pivot + 1, end, 0.0);
  }
  rows_ = std::min(columns, rows_);
}

std::optional<std::vector<double>> LeastSquares::solve() {
  if (rows_ < unknowns_) return std::nullopt;
  triangularise();
  double largest = 0;
  for (std::size_t i = 0; i < unknowns_; ++i) {
    largest = std::max(largest, std::abs(at(i, i)));
  }
  std::vector<double> solution(unknowns_);
  for (std::size_t i = unknowns_; i-- > 0;) {
    // Written so that NaN is refused too.
    if (!(std::abs(at(i, i)) > kSmallestPivot * largest)) return std::nullopt;
    double right = at(i, unknowns_);
    for (std::size_t k = i + 1; k < unknowns_; ++k) {
      right -= at(i, k) * solution[k];
    }
    solution[i] = right / at(i, i);
  }
  return solution;
}

}  // namespace weft
