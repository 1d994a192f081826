// The sum of exp(x) over a row, or over each of some columns, without an
// overflow: what softmax and cross entropy share.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_ROW_SUMS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ROW_SUMS_H_
#undef WEFT_KERNELS_CPU_ROW_SUMS_H_
#else
#define WEFT_KERNELS_CPU_ROW_SUMS_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/kernels/simd/functions.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

// A row's largest element, and the sum of exp(x - largest). A NaN may miss the
// first, but not the second.
struct RowSum {
  float largest;
  float sum;
};

template <class T>
float largest_of(const T* row, std::size_t classes) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return simd::max_lanes(simd::reduce(
      row, classes, kLowest, kLowest,
      [](simd::Vector best, simd::Vector x) { return simd::hn::Max(best, x); },
      [](simd::Vector a, simd::Vector b) { return simd::hn::Max(a, b); }));
}

template <class T>
RowSum row_sum(const T* row, std::size_t classes) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const float largest = largest_of(row, classes);
  // Shifted by the largest, no exponent is above 0: the sum lies between 1 and
  // the number of classes, and cannot overflow.
  const simd::Vector shift = simd::broadcast(largest);
  const float sum = simd::sum_lanes(simd::reduce(
      // Lanes beyond the row are filled with minus infinity, whose exp adds
      // nothing.
      row, classes, 0.f, kLowest,
      [&](simd::Vector total, simd::Vector x) {
        return simd::hn::Add(total,
                             simd::exp_of_negative(simd::hn::Sub(x, shift)));
      },
      [](simd::Vector a, simd::Vector b) { return simd::hn::Add(a, b); }));
  return {largest, sum};
}

// Columns that are taken at once.
constexpr std::size_t kColumns = 64;

// Calls body(i, vector) for the elements of a row from i on; what a vector has
// beyond the end of the row is 0.
template <class T, class Body>
void for_each_vector(const T* row, std::size_t width, Body&& body) {
  std::size_t i = 0;
  for (; i + simd::kLanes <= width; i += simd::kLanes) {
    body(i, simd::load(row + i));
  }
  if (i < width) body(i, simd::load_part(row + i, width - i, 0.f));
}

// What RowSum is of a row, of each column of some rows `stride` apart.
struct ColumnSums {
  float largest[kColumns];
  float sum[kColumns];

  template <class T>
  ColumnSums(const T* x, std::size_t rows, std::size_t stride,
             std::size_t width) {
    std::fill_n(largest, kColumns, -std::numeric_limits<float>::infinity());
    std::fill_n(sum, kColumns, 0.f);
    for (std::size_t row = 0; row < rows; ++row) {
      for_each_vector(
          x + row * stride, width, [&](std::size_t i, simd::Vector v) {
            simd::store(simd::hn::Max(simd::load(largest + i), v), largest + i);
          });
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for_each_vector(
          x + row * stride, width, [&](std::size_t i, simd::Vector v) {
            const simd::Vector power = simd::exp_of_negative(
                simd::hn::Sub(v, simd::load(largest + i)));
            simd::store(simd::hn::Add(simd::load(sum + i), power), sum + i);
          });
    }
  }
};

// Rows of at most a vector's lanes, which would leave most of one empty, as
// columns: element i of row j is data[i * kColumns + j].
template <class T>
struct TurnedRows {
  alignas(64) T data[simd::kLanes * kColumns];

  TurnedRows(const T* x, std::size_t rows, std::size_t size) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < size; ++i) {
        data[i * kColumns + row] = x[row * size + i];
      }
    }
  }
  void put(T* y, std::size_t rows, std::size_t size) const {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < size; ++i) {
        y[row * size + i] = data[i * kColumns + row];
      }
    }
  }
};

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
