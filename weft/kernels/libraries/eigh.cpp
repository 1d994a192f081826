// Eigenvalues and eigenvectors of symmetric matrices.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "weft/base/parallel.h"
#include "weft/kernels/libraries/factor_kernel.h"
#include "weft/kernels/simd/tridiagonal.h"

namespace weft {
namespace {

// LAPACK's syevd, but for the way to a tridiagonal matrix, which reads it half
// as often; its halves are solved on two threads, and the way back is shared
// out over all.
//
// Source: Cuppen, "A Divide and Conquer Method for the Symmetric Tridiagonal
// Eigenproblem" (1981), by whose method LAPACK solves the halves, too.
template <class T>
class EighFactoring {
 public:
  explicit EighFactoring(const Sides& sides)
      : n_(sides.rows),
        stride_(tridiagonal_stride(n_)),
        first_half_(n_ < kLeastHalved ? n_ : n_ / 2),
        blocks_((n_ - 1 + kBlock - 1) / kBlock),
        parts_((n_ + kColumns - 1) / kColumns) {
    double* nowhere = nullptr;
    half_work_ = asked([&](double* size, lapack_int none) {
      const lapack_int n = to_lapack(std::max(first_half_, n_ - first_half_));
      return lapack::stedc(n, nowhere, nowhere, nowhere, n, size, none,
                           &half_integers_, none);
    });
    work_ = std::max({2 * half_work_, 4 * n_ + n_ * n_,
                      (blocks_ * kBlock + parts_ * kColumns) * kBlock});
  }

  std::int64_t numbers() const {
    return stride_ * (stride_ + kTridiagonalRows) + 4 * n_ + n_ * n_ + work_;
  }
  std::int64_t integers() const {
    return n_ + std::max(std::int64_t{2} * half_integers_, 4 * n_);
  }

  bool run(const T* a, T* const* results, Pieces<T> memory,
           lapack_int* integers) const {
    const std::int64_t n = n_;
    T* matrix = memory.take(stride_ * stride_);
    T* rows = memory.take(stride_ * kTridiagonalRows);
    T* diagonal = memory.take(n);
    T* beside = memory.take(n);
    T* factors = memory.take(n);
    T* farthest = memory.take(n);
    T* vectors = memory.take(n * n);
    T* work = memory.take(work_);
    lapack_int* order = integers;
    const T scale = copy_scaled(a, matrix, farthest);
    make_tridiagonal(n, matrix, diagonal, beside, factors, rows);
    if (!solve_halves(diagonal, beside, vectors, work, integers + n) ||
        !merge(diagonal, beside, vectors, order, work, integers + n)) {
      return false;
    }
    turn_back(matrix, factors, vectors, work);
    for (std::int64_t i = 0; i < n; ++i) {
      results[0][i] = diagonal[order[i] - 1] / scale;
    }
    for_each_by_tiles(n, n, [=, to = results[1]](auto i, auto j) {
      to[i * n + j] = vectors[(order[j] - 1) * n + i];
    });
    orient_columns(n, n, results[1], farthest);
    return true;
  }

 private:
  // So many reflections are joined, and applied to so many columns at once,
  // whatever the threads are, so that sums have one order. Smaller matrices are
  // solved whole.
  static constexpr std::int64_t kBlock = 32;
  static constexpr std::int64_t kColumns = 64;
  static constexpr std::int64_t kLeastHalved = 100;

  bool is_halved() const { return first_half_ < n_; }

  // `vectors` becomes two blocks on a diagonal. What stands beside the diagonal
  // where they meet is taken from both of them, in favour of merge().
  bool solve_halves(T* diagonal, T* beside, T* vectors, T* work,
                    lapack_int* integers) const {
    if (is_halved()) {
      const T between = std::fabs(beside[first_half_ - 1]);
      diagonal[first_half_ - 1] -= between;
      diagonal[first_half_] -= between;
      std::fill_n(vectors, n_ * n_, T(0));
    }
    std::array<bool, 2> is_solved = {true, true};
    parallel_for(is_halved() ? 2 : 1, 1, [&](auto begin, auto end) {
      const OnOneThread on_one_thread;
      for (std::int64_t half = begin; half < end; ++half) {
        const std::int64_t first = half * first_half_;
        const std::int64_t size = half == 0 ? first_half_ : n_ - first_half_;
        is_solved[at(half)] =
            lapack::stedc(to_lapack(size), diagonal + first, beside + first,
                          vectors + first * (n_ + 1), to_lapack(n_),
                          work + half * half_work_, to_lapack(half_work_),
                          integers + half * half_integers_,
                          half_integers_) == 0;
      }
    });
    return is_solved[0] && is_solved[1];
  }

  bool merge(T* diagonal, T* beside, T* vectors, lapack_int* order, T* work,
             lapack_int* integers) const {
    std::iota(order, order + first_half_, 1);
    if (!is_halved()) return true;
    std::iota(order + first_half_, order + n_, 1);
    const OnOneThread on_one_thread;
    return lapack::merge_blocks(to_lapack(n_), to_lapack(first_half_), diagonal,
                                vectors, order, beside[first_half_ - 1], work,
                                integers) == 0;
  }

  // The symmetric part, times a power of 2 by which squares of its numbers are
  // numbers. It is the same by rows and by columns. Halves are added, as a sum
  // might be beyond all numbers. `largest` is memory for a number of each
  // column.
  T copy_scaled(const T* a, T* matrix, T* largest) const {
    const std::int64_t n = n_, stride = stride_;
    std::fill_n(matrix, stride * stride, T(0));
    for_each_by_tiles(n, n, [=](auto i, auto j) {
      matrix[i * stride + j] = a[i * n + j] / 2 + a[j * n + i] / 2;
    });
    std::fill_n(largest, n, T(0));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const T size = std::fabs(matrix[i * stride + j]);
        largest[j] = size > largest[j] ? size : largest[j];
      }
    const T most = *std::max_element(largest, largest + n);
    // Beyond it a power or its inverse is no normal number.
    constexpr int kMost = std::numeric_limits<T>::max_exponent - 3;
    const int exponent =
        most == 0 ? 0 : std::clamp(std::ilogb(most), -kMost, kMost);
    const T scale = std::ldexp(T(1), -exponent);
    for (std::int64_t i = 0; i < stride * stride; ++i) matrix[i] *= scale;
    return scale;
  }

  // From vectors of the tridiagonal matrix to those of the whole: Q times each.
  void turn_back(const T* matrix, const T* factors, T* vectors, T* work) const {
    const T* reflections = matrix + stride_;  // the first row has none
    T* joined = work;
    T* room = work + blocks_ * kBlock * kBlock;
    share_out(blocks_, n_ * kBlock, [=, this](std::int64_t block) {
      lapack::join_reflections(rows_of(block), size_of(block),
                               reflections + block * kBlock * stride_,
                               to_lapack(stride_), factors + block * kBlock,
                               joined + block * kBlock * kBlock);
    });
    share_out(parts_, n_ * n_, [=, this](std::int64_t part) {
      const std::int64_t first = part * kColumns;
      for (std::int64_t block = 0; block < blocks_; ++block) {
        lapack::reflect(rows_of(block),
                        to_lapack(std::min(kColumns, n_ - first)),
                        size_of(block), reflections + block * kBlock * stride_,
                        to_lapack(stride_), joined + block * kBlock * kBlock,
                        vectors + first * n_, to_lapack(n_),
                        room + part * kColumns * kBlock);
      }
    });
  }

  lapack_int size_of(std::int64_t block) const {
    return to_lapack(std::min(kBlock, n_ - 1 - block * kBlock));
  }
  // Those that its reflections change.
  lapack_int rows_of(std::int64_t block) const {
    return to_lapack(block * kBlock) + size_of(block);
  }

  // Calls task(i) for each i, which takes some 64 times so many products.
  template <class Task>
  static void share_out(std::int64_t count, std::int64_t products, Task task) {
    constexpr std::int64_t kLeastProducts = 1 << 14;
    parallel_for(count, 1 + kLeastProducts / products,
                 [&](std::int64_t begin, std::int64_t end) {
                   const OnOneThread on_one_thread;
                   for (std::int64_t i = begin; i < end; ++i) task(i);
                 });
  }

  std::int64_t n_, stride_;
  std::int64_t first_half_;      // its rows: all where it is no half
  std::int64_t blocks_, parts_;  // of reflections, and of columns
  std::int64_t half_work_, work_;
  lapack_int half_integers_ = 0;
};

}  // namespace

void register_library_eigh(KernelRegistry& kernels) {
  kernels.add({"eigh", "lapack:stedc", 10, divide_and_conquer_declines,
               prepare_factors<EighFactoring>});
}

}  // namespace weft
