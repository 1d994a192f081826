// Cholesky factors in blocks of rows. The matrix is UᵀU, where the rows of U
// lie side by side: a block of them is what is left of the matrix's after what
// it owes to blocks before it, solved by the block on its diagonal. Its columns
// are shared out over the threads.
//
// Source: Golub and Van Loan, "Matrix Computations" (2013), section 4.2.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/cholesky.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>
#include <limits>
#include <span>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/matrix_stacks.h"
#include "weft/kernels/simd/strided_copy.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/triangle.h"
#include "weft/ops/support/factors.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// Rows whose products and columns fill blocks of registers (tile_product.h).
constexpr std::size_t kBlock = 48;
template <class T>
constexpr std::size_t kColumns = 128 / sizeof(T);

// Elements between rows: whole blocks at least.
template <class T>
std::size_t stride_of(std::size_t n) {
  return at(odd_lines<T>(
      static_cast<std::int64_t>((n + kBlock - 1) / kBlock * kBlock)));
}

template <class T>
class Factor {
 public:
  // `u` has n rows, of which what is right of the diagonal, and the blocks on
  // it, hold the matrix.
  Factor(std::size_t n, T* u) : n_(n), stride_(stride_of<T>(n)), u_(u) {}

  // False if the matrix is not positive definite.
  bool run() const {
    for (std::size_t first = 0; first < n_; first += kBlock) {
      if (!factor_diagonal(first)) return false;
      solve_rows(first);
    }
    return true;
  }

 private:
  std::size_t count(std::size_t first) const {
    return std::min(kBlock, n_ - first);
  }

  simd::RowTile<T> from(std::size_t row, std::size_t column) const {
    return {u_ + row * stride_ + column, stride_};
  }

  // Rows [first, first + rows) of some columns lose what they owe to the rows
  // [before, before + depth).
  void take_owed(std::size_t first, std::size_t rows, std::size_t column,
                 std::size_t columns, std::size_t before,
                 std::size_t depth) const {
    if (depth == 0) return;
    const simd::RowTile<T> solved = from(before, column);
    simd::take_owed<T>(rows, columns, depth,
                       {from(before, first).data, 1, stride_},
                       {solved.data, solved.row}, from(first, column));
  }

  // The block lacks only what it owes to the block before it.
  bool factor_diagonal(std::size_t first) const {
    const std::size_t rows = count(first);
    if (first > 0) {
      take_owed(first, rows, first, rows, first - kBlock, kBlock);
    }
    for (std::size_t j = 0; j < rows; ++j) {
      T* HWY_RESTRICT pivot = from(first + j, first).data;
      // NaN fails it, too.
      if (!(pivot[j] > 0)) return false;
      const T scale = 1 / std::sqrt(pivot[j]);
      // Whole rows, whose length is known, take less time than what is right of
      // the diagonal.
      for (std::size_t c = 0; c < kBlock; ++c) pivot[c] *= scale;
      for (std::size_t i = j + 1; i < rows; ++i) {
        T* HWY_RESTRICT row = from(first + i, first).data;
        const T factor = pivot[i];
        for (std::size_t c = 0; c < kBlock; ++c) row[c] -= factor * pivot[c];
      }
    }
    return true;
  }

  void solve_rows(std::size_t first) const {
    const std::size_t rows = count(first);
    const std::size_t next = first + rows;
    if (next == n_) return;
    const simd::Triangle<T> triangle{u_, n_, stride_, false, true, false};
    const std::size_t panels = (n_ - next + kColumns<T> - 1) / kColumns<T>;
    constexpr std::size_t kLeastProducts = 1 << 17;  // worth a thread
    const std::size_t grain =
        1 + kLeastProducts / (kBlock * kColumns<T> * (first + kBlock));
    const auto solve_panel = [&](std::size_t panel) {
      const std::size_t column = next + panel * kColumns<T>;
      const std::size_t columns = std::min(kColumns<T>, n_ - column);
      simd::solve<T>(triangle, first, next, columns, from(0, column));
    };
    parallel_for(static_cast<std::int64_t>(panels + 1),
                 static_cast<std::int64_t>(grain),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::size_t task = at(begin); task < at(end); ++task) {
                     if (task > 0) {
                       solve_panel(task - 1);
                       continue;
                     }
                     // What the next diagonal block owes to rows before these,
                     // while nobody waits for it.
                     take_owed(next, count(next), next, count(next), 0, first);
                   }
                 });
  }

  std::size_t n_, stride_;
  T* u_;
};

template <class T>
class CholeskyKernel final : public PreparedKernel {
 public:
  explicit CholeskyKernel(const OpCall& call)
      : sides_(call.input(0)),
        stride_(static_cast<std::int64_t>(stride_of<T>(at(sides_.rows)))),
        transpose_in_(transpose(sides_.rows, stride_)),
        transpose_out_(transpose(stride_, sides_.rows)) {}

  std::size_t scratch_bytes() const override {
    return matrix_scratch_bytes(sides_, bytes());
  }

  void run(const KernelBuffers& buffers) noexcept override {
    for_each_or_within(sides_, bytes(), [&](std::int64_t i, std::int64_t task) {
      factor(buffers, i, task);
    });
  }

 private:
  std::int64_t numbers() const { return sides_.rows * stride_; }
  std::int64_t bytes() const {
    return numbers() * static_cast<std::int64_t>(sizeof(T));
  }

  StridedCopy transpose(std::int64_t from_row, std::int64_t to_row) const {
    return {
        sizeof(T), Shape{sides_.rows, sides_.rows}, {1, from_row}, {to_row, 1}};
  }

  void factor(const KernelBuffers& buffers, std::int64_t i,
              std::int64_t task) const {
    const std::int64_t n = sides_.rows;
    const T* a = input_of<T>(buffers, 0) + i * sides_.size();
    T* u = static_cast<T*>(buffers.scratch) + task * numbers();
    T* l = output_of<T>(buffers, 0) + i * sides_.size();
    copy_symmetric(a, u);
    const bool has_factor =
        is_all_finite(std::span<const T>(u, at(numbers()))) &&
        Factor<T>(at(n), u).run();
    if (!has_factor) {
      std::fill_n(l, n * n, std::numeric_limits<T>::quiet_NaN());
      return;
    }
    for (std::int64_t row = 0; row < n; ++row) {
      std::fill_n(u + row * stride_, row, T(0));
    }
    transpose_out_.run(u, l);
  }

  // (a + aᵀ) / 2, with zeros behind each row.
  void copy_symmetric(const T* a, T* u) const {
    const std::int64_t n = sides_.rows;
    transpose_in_.run(a, u);
    for (std::int64_t row = 0; row < n; ++row) {
      const T* HWY_RESTRICT from = a + row * n;
      T* HWY_RESTRICT to = u + row * stride_;
      for (std::int64_t j = 0; j < n; ++j) to[j] = (to[j] + from[j]) / 2;
      std::fill(to + n, to + stride_, T(0));
    }
  }

  Sides sides_;
  std::int64_t stride_;
  StridedCopy transpose_in_, transpose_out_;
};

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "cholesky",
       .name = "simd:cholesky",
       .rank = 10,
       .declines = declines_matrices,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         if (call.input(0).dtype == DType::kF64)
           return std::make_unique<CholeskyKernel<double>>(call);
         return std::make_unique<CholeskyKernel<float>>(call);
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_cholesky(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
