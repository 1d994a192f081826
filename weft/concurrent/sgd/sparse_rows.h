// Examples with few features each, row after row.
//
// Threads: a value type.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/huge_pages.h"

namespace weft::concurrent {

struct SparseRows {
  std::vector<std::uint64_t> begin = {0};  // [rows + 1], of each in these two:
  HugeVector<std::uint32_t> columns;       // ascending within a row
  HugeVector<float> values;
  std::vector<float> targets;  // [rows]
  std::uint32_t width = 0;     // above all columns

  std::size_t rows() const { return targets.size(); }
  std::span<const std::uint32_t> columns_of(std::size_t row) const {
    return std::span(columns).subspan(begin[row], size_of(row));
  }
  std::span<const float> values_of(std::size_t row) const {
    return std::span(values).subspan(begin[row], size_of(row));
  }

 private:
  std::size_t size_of(std::size_t row) const {
    return begin[row + 1] - begin[row];
  }
};

}  // namespace weft::concurrent
