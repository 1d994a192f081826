// Rows that a triangle ties to each other, solved in blocks: what a block of
// rows owes to rows before it is one product of matrices, and only the block
// itself is substituted.
//
// Source: Golub and Van Loan, "Matrix Computations" (2013), section 3.1.4.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_TRIANGLE_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_TRIANGLE_H_
#undef WEFT_KERNELS_SIMD_TRIANGLE_H_
#else
#define WEFT_KERNELS_SIMD_TRIANGLE_H_
#endif

#include <algorithm>

#include "weft/kernels/simd/tile_product.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// Rows that are substituted one by one: as many as a product computes at once.
inline constexpr std::size_t kTriangleRows = 12;

// a [n, n], of which one triangle counts. Rows lie `row` elements apart.
template <class T>
struct Triangle {
  const T* data;
  std::size_t n, row;
  bool is_lower, is_transposed, has_unit_diagonal;

  bool goes_forwards() const { return is_lower != is_transposed; }
  // The matrix from element (i, j) on.
  LeftTile<T> from(std::size_t i, std::size_t j) const {
    return is_transposed ? LeftTile<T>{data + j * row + i, 1, row}
                         : LeftTile<T>{data + i * row + j, row, 1};
  }
};

// x [rows, columns] -= a [rows, count] before [count, columns].
template <class T>
void take_owed(std::size_t rows, std::size_t columns, std::size_t count,
               const LeftTile<T>& a, RowTile<const T> before, RowTile<T> x) {
  const auto negate = [=] {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t c = 0; c < columns; ++c) {
        x.data[i * x.row + c] = -x.data[i * x.row + c];
      }
    }
  };
  // Products only add.
  negate();
  tile_product<T>(rows, columns, count, a, before, x, true);
  negate();
}

// Rows [first, first + count) of x, that owe nothing to others any more, become
// those of the solution.
template <class T>
void substitute(const Triangle<T>& a, std::size_t first, std::size_t count,
                std::size_t columns, RowTile<T> x) {
  const LeftTile<T> block = a.from(first, first);
  const auto row = [&](std::size_t step) {
    return a.goes_forwards() ? step : count - 1 - step;
  };
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t j = row(step);
    T* HWY_RESTRICT solved = x.data + (first + j) * x.row;
    const T diagonal =
        a.has_unit_diagonal ? T{1} : block.data[j * (block.row + block.step)];
    for (std::size_t c = 0; c < columns; ++c) solved[c] /= diagonal;
    // A row that is solved leaves all others of its block at once: none waits.
    for (std::size_t after = step + 1; after < count; ++after) {
      const std::size_t i = row(after);
      T* HWY_RESTRICT other = x.data + (first + i) * x.row;
      const T factor = block.data[i * block.row + j * block.step];
      for (std::size_t c = 0; c < columns; ++c) other[c] -= factor * solved[c];
    }
  }
}

// x [n, columns] holds right sides, of which the first `done` that the triangle
// does not tie to later ones are solved. Those until `until` are solved now.
template <class T>
void solve(const Triangle<T>& a, std::size_t done, std::size_t until,
           std::size_t columns, RowTile<T> x) {
  for (; done < until; done += kTriangleRows) {
    const std::size_t count = std::min(kTriangleRows, until - done);
    const std::size_t first = a.goes_forwards() ? done : a.n - done - count;
    if (done > 0) {
      const std::size_t solved = a.goes_forwards() ? 0 : first + count;
      take_owed<T>(count, columns, done, a.from(first, solved),
                   {x.data + solved * x.row, x.row},
                   {x.data + first * x.row, x.row});
    }
    substitute(a, first, count, columns, x);
  }
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // per target
