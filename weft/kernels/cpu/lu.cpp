// LU factors in blocks of columns. A block is factored apart, where its columns
// lie side by side, and by halves, so that nearly all of its work, too, is
// products of matrices. What it takes from columns right of it is shared out
// over the threads.
//
// Source: Toledo, "Locality of Reference in LU Decomposition with Partial
// Pivoting" (1997).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/lu.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>
#include <limits>
#include <numeric>
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

namespace hn = simd::hn;

// Columns of a block, of what is eliminated one by one, and of a task: four
// vectors of AVX-512.
constexpr std::size_t kBlock = 96;
constexpr std::size_t kHalf = kBlock / 2;
constexpr std::size_t kFewColumns = 6;
template <class T>
constexpr std::size_t kTaskColumns = 256 / sizeof(T);

// Some columns of a matrix, side by side, of which the rows from the first that
// has a pivot on are kept.
template <class T>
class Panel {
 public:
  // `data` has room for as many columns, an odd number of cache lines apart.
  Panel(std::size_t rows, std::size_t columns, T* data)
      : rows_(rows),
        columns_(columns),
        stride_(at(odd_lines<T>(static_cast<std::int64_t>(rows)))),
        data_(data) {}

  std::int64_t stride() const { return static_cast<std::int64_t>(stride_); }
  T* column(std::size_t j) const { return data_ + j * stride_; }
  // Products only add: they take the numbers with the other sign.
  simd::LeftTile<T> below(std::size_t row) const {
    return {data_ + row, 1, stride_};
  }

  // Column j's pivot was in row pivots[j] when it was looked for.
  void factor(std::size_t* pivots) const { factor(0, columns_, pivots); }

  void negate() const {
    for (std::size_t j = 0; j < columns_; ++j) {
      T* HWY_RESTRICT numbers = column(j);
      for (std::size_t i = 0; i < rows_; ++i) numbers[i] = -numbers[i];
    }
  }

 private:
  void factor(std::size_t first, std::size_t count, std::size_t* pivots) const {
    if (count <= kFewColumns) {
      for (std::size_t j = first; j < first + count; ++j) {
        pivots[j] = pivot_of(j);
        exchange(j, pivots[j]);
        eliminate(j, first + count);
      }
      return;
    }
    const std::size_t half =
        (count / 2 + kFewColumns - 1) / kFewColumns * kFewColumns;
    factor(first, half, pivots);
    take(first, half, count - half);
    factor(first + half, count - half, pivots);
  }

  std::size_t pivot_of(std::size_t j) const {
    const hn::ScalableTag<T> all;
    constexpr std::size_t kEach = simd::kLanesOf<T>;
    const T* HWY_RESTRICT numbers = column(j);
    auto sizes = hn::Zero(all);
    std::size_t i = j;
    for (; i + kEach <= rows_; i += kEach) {
      sizes = hn::Max(sizes, hn::Abs(simd::load(numbers + i)));
    }
    const auto rest = hn::FirstN(all, rows_ - i);
    sizes = hn::Max(sizes, hn::Abs(hn::MaskedLoad(rest, all, numbers + i)));
    const T largest = hn::GetLane(hn::MaxOfLanes(all, sizes));
    std::size_t pivot = j;
    while (pivot + 1 < rows_ && std::fabs(numbers[pivot]) != largest) ++pivot;
    return pivot;
  }

  void exchange(std::size_t i, std::size_t j) const {
    if (i == j) return;
    for (std::size_t c = 0; c < columns_; ++c) {
      std::swap(column(c)[i], column(c)[j]);
    }
  }

  // Takes column j from those behind it, up to `end`.
  void eliminate(std::size_t j, std::size_t end) const {
    T* HWY_RESTRICT factors = column(j);
    const T pivot = factors[j];
    // A column of zeros alone has nothing to take away.
    if (pivot == 0) return;
    for (std::size_t i = j + 1; i < rows_; ++i) factors[i] /= pivot;
    for (std::size_t c = j + 1; c < end; ++c) {
      T* HWY_RESTRICT other = column(c);
      const T share = other[j];
      for (std::size_t i = j + 1; i < rows_; ++i) {
        other[i] -= share * factors[i];
      }
    }
  }

  // Takes `count` columns from as many behind them as `columns` says.
  void take(std::size_t first, std::size_t count, std::size_t columns) const {
    const std::size_t next = first + count;
    T shares[kHalf * kHalf];  // with the other sign, column by column
    for (std::size_t c = 0; c < columns; ++c) {
      T* HWY_RESTRICT other = column(next + c);
      for (std::size_t j = first; j < next; ++j) {
        const T* HWY_RESTRICT factors = column(j);
        const T share = other[j];
        for (std::size_t i = j + 1; i < next; ++i) {
          other[i] -= share * factors[i];
        }
        shares[c * kHalf + j - first] = -share;
      }
    }
    simd::tile_product<T>(columns, rows_ - next, count, {shares, kHalf, 1},
                          {column(first) + next, stride_},
                          {column(next) + next, stride_}, true);
  }

  std::size_t rows_, columns_, stride_;
  T* data_;
};

template <class T>
class Elimination {
 public:
  // `a` has n rows of n numbers, and `memory` room for kBlock columns.
  Elimination(std::size_t n, T* a, T* memory, std::int64_t* order)
      : n_(n), a_(a), memory_(memory), order_(order) {}

  // Returns the sign of the order that rows are in afterwards.
  T run() {
    std::iota(order_, order_ + n_, std::int64_t{0});
    for (std::size_t first = 0; first < n_; first += kBlock) {
      const std::size_t columns = std::min(kBlock, n_ - first);
      const Panel<T> panel(n_ - first, columns, memory_);
      std::size_t pivots[kBlock];
      factor(first, columns, panel, pivots);
      take(first, columns, panel, pivots);
    }
    return sign_;
  }

 private:
  T* from(std::size_t row, std::size_t column) const {
    return a_ + row * n_ + column;
  }

  void factor(std::size_t first, std::size_t columns, const Panel<T>& panel,
              std::size_t* pivots) {
    const auto rows = static_cast<std::int64_t>(n_ - first);
    const auto count = static_cast<std::int64_t>(columns);
    const auto row = static_cast<std::int64_t>(n_);
    const StridedCopy in(sizeof(T), Shape{count, rows}, {1, row},
                         {panel.stride(), 1});
    const StridedCopy out(sizeof(T), Shape{rows, count}, {1, panel.stride()},
                          {row, 1});
    in.run(from(first, first), panel.column(0));
    panel.factor(pivots);
    out.run(panel.column(0), from(first, first));
    for (std::size_t j = 0; j < columns; ++j) {
      if (pivots[j] == j) continue;
      std::swap(order_[first + j], order_[first + pivots[j]]);
      sign_ = -sign_;
    }
  }

  // Brings the rows of all other columns into a block's order, and takes the
  // block from those right of it.
  void take(std::size_t first, std::size_t count, const Panel<T>& panel,
            const std::size_t* pivots) const {
    panel.negate();
    const std::size_t next = first + count;
    const auto tasks_of = [](std::size_t columns) {
      return (columns + kTaskColumns<T> - 1) / kTaskColumns<T>;
    };
    const std::size_t before = tasks_of(first);
    constexpr std::size_t kLeastProducts = 1 << 17;  // worth a thread
    const std::size_t grain =
        1 + kLeastProducts / (count * kTaskColumns<T> * (n_ - first));
    parallel_for(static_cast<std::int64_t>(before + tasks_of(n_ - next)),
                 static_cast<std::int64_t>(grain),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::size_t task = at(begin); task < at(end); ++task) {
                     const bool is_left = task < before;
                     const std::size_t column =
                         is_left ? task * kTaskColumns<T>
                                 : next + (task - before) * kTaskColumns<T>;
                     const std::size_t columns = std::min(
                         kTaskColumns<T>, (is_left ? first : n_) - column);
                     exchange(first, count, pivots, column, columns);
                     if (!is_left) take(first, count, panel, column, columns);
                   }
                 });
  }

  void exchange(std::size_t first, std::size_t count, const std::size_t* pivots,
                std::size_t column, std::size_t columns) const {
    for (std::size_t j = 0; j < count; ++j) {
      if (pivots[j] == j) continue;
      T* row = from(first + j, column);
      std::swap_ranges(row, row + columns, from(first + pivots[j], column));
    }
  }

  void take(std::size_t first, std::size_t count, const Panel<T>& panel,
            std::size_t column, std::size_t columns) const {
    // Rows of the product lie side by side, not a row of the matrix apart.
    alignas(64) T solved[kBlock * kTaskColumns<T>];
    const simd::RowTile<T> rows{solved, kTaskColumns<T>};
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(from(first + i, column), columns, solved + i * rows.row);
    }
    const simd::Triangle<T> triangle{
        from(first, first), count, n_, true, false, true};
    simd::solve<T>(triangle, 0, count, columns, rows);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(solved + i * rows.row, columns, from(first + i, column));
    }
    const std::size_t next = first + count;
    simd::tile_product<T>(n_ - next, columns, count, panel.below(count),
                          {solved, rows.row}, {from(next, column), n_}, true);
  }

  std::size_t n_;
  T* a_;
  T* memory_;
  std::int64_t* order_;
  T sign_ = 1;
};

template <class T>
class LuKernel final : public PreparedKernel {
 public:
  explicit LuKernel(const OpCall& call)
      : sides_(call.input(0)),
        numbers_(static_cast<std::int64_t>(kBlock) *
                 odd_lines<T>(sides_.rows)) {}

  std::size_t scratch_bytes() const override {
    return matrix_scratch_bytes(sides_, bytes());
  }

  void run(const KernelBuffers& buffers) noexcept override {
    for_each_or_within(sides_, bytes(), [&](std::int64_t i, std::int64_t task) {
      factor(buffers, i, task);
    });
  }

 private:
  std::int64_t bytes() const {
    return numbers_ * static_cast<std::int64_t>(sizeof(T));
  }

  void factor(const KernelBuffers& buffers, std::int64_t i,
              std::int64_t task) const {
    const std::int64_t n = sides_.rows;
    const T* a = input_of<T>(buffers, 0) + i * sides_.size();
    T* factors = output_of<T>(buffers, 0) + i * sides_.size();
    std::int64_t* order = output_of<std::int64_t>(buffers, 1) + i * n;
    T* sign = output_of<T>(buffers, 2) + i;
    if (!is_all_finite(std::span<const T>(a, at(sides_.size())))) {
      *sign = std::numeric_limits<T>::quiet_NaN();
      std::fill_n(factors, sides_.size(), *sign);
      std::iota(order, order + n, std::int64_t{0});
      return;
    }
    std::copy_n(a, sides_.size(), factors);
    T* memory = static_cast<T*>(buffers.scratch) + task * numbers_;
    *sign = Elimination<T>(at(n), factors, memory, order).run();
  }

  Sides sides_;
  std::int64_t numbers_;
};

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "lu",
       .name = "simd:lu",
       .rank = 10,
       .declines = declines_matrices,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         if (call.input(0).dtype == DType::kF64)
           return std::make_unique<LuKernel<double>>(call);
         return std::make_unique<LuKernel<float>>(call);
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_lu(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
