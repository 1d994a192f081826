// The logarithm of a sum of exponentials, for references.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace weft {

// `row` holds at least one number.
inline double log_sum_exp(std::span<const double> row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  // No term exceeds 1, so that nothing overflows. This is log Σ exp(x) = m +
  // log Σ exp(x - m), with the largest x as m.
  for (const double x : row) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

}  // namespace weft
