// Sparse examples whose columns are popular by a power law.
#pragma once

#include <algorithm>
#include <set>

#include "weft/concurrent/random.h"
#include "weft/concurrent/sgd/sparse_rows.h"

namespace weft::concurrent {

inline SparseRows sample_rows(std::size_t rows, std::uint32_t width,
                              std::size_t entries) {
  FastRandom random(7, 0);
  SparseRows result;
  result.width = width;
  for (std::size_t row = 0; row < rows; ++row) {
    std::set<std::uint32_t> columns;
    while (columns.size() < entries) {
      const double popular = random.unit() * random.unit() * random.unit();
      columns.insert(static_cast<std::uint32_t>(popular * width));
    }
    // Even columns speak for one class, and odd ones for the other.
    double sum = 0;
    for (const std::uint32_t column : columns) {
      result.columns.push_back(column);
      result.values.push_back(static_cast<float>(0.5 + random.unit()));
      const double value = static_cast<double>(result.values.back());
      sum += column % 2 == 0 ? value : -value;
    }
    result.begin.push_back(result.columns.size());
    result.targets.push_back(sum > 0 ? 1.0F : -1.0F);
  }
  return result;
}

}  // namespace weft::concurrent
