// QR, eigenvalues and singular values by LAPACK, each in the dtype of its
// operand: the methods are backward stable, so that results are exact for an
// operand that is off by roundings of its largest numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/index.h"
#include "weft/kernels/cpu/matrix_stacks.h"
#include "weft/kernels/libraries/lapack.h"
#include "weft/kernels/simd/tridiagonal.h"
#include "weft/ops/support/factors.h"

namespace weft {
namespace {

// Memory for the factors of one matrix, handed out piece by piece.
template <class T>
class Pieces {
 public:
  explicit Pieces(T* begin) : next_(begin) {}
  T* take(std::int64_t size) {
    next_ += size;
    return next_ - size;
  }

 private:
  T* next_;
};

lapack_int to_lapack(std::int64_t n) { return static_cast<lapack_int>(n); }

// LAPACK tells the best size of its memory in the first number of it. It is
// asked in f64, as f32 cannot hold the sizes of large matrices; they are the
// same.
template <class Ask>
std::int64_t asked(Ask&& ask) {
  double size = 0;
  // A size of -1 asks LAPACK for the best size of its memory, and computes
  // nothing.
  WEFT_CHECK(ask(&size, lapack_int{-1}) == 0, "LAPACK refuses the sizes");
  return static_cast<std::int64_t>(size);
}

// Each factoring takes a matrix by rows and gives its results by rows. It is
// made for matrices of one size, says how many numbers and integers of memory
// it works in, and is false where LAPACK finds no factors.

// Reflections are found and applied in blocks, so that nearly all is products
// of matrices. Source: Elmroth and Gustavson, "Applying Recursion to Serial and
// Parallel QR Factorization" (2000), by which geqrt factors a block.
template <class T>
class QrFactoring {
 public:
  explicit QrFactoring(const Sides& sides)
      : m_(sides.rows),
        n_(sides.columns),
        block_(std::min<std::int64_t>(n_, 64)) {}

  std::int64_t numbers() const { return 2 * m_ * n_ + 2 * block_ * n_ + n_; }
  std::int64_t integers() const { return 0; }

  bool run(const T* a, T* const* results, Pieces<T> memory, lapack_int*) const {
    const OnOneThread on_one_thread;
    T* by_columns = memory.take(m_ * n_);
    T* by_rows = memory.take(m_ * n_);
    T* t = memory.take(block_ * n_);
    T* work = memory.take(block_ * n_);
    T* signs = memory.take(n_);
    for_each_by_tiles(m_, n_, [=, n = n_, m = m_](auto i, auto j) {
      by_columns[j * m + i] = a[i * n + j];
    });
    lapack::geqrt(to_lapack(m_), to_lapack(n_), to_lapack(block_), by_columns,
                  t, work);
    for_each_by_tiles(m_, n_, [=, n = n_, m = m_](auto i, auto j) {
      by_rows[i * n + j] = by_columns[j * m + i];
    });
    make_q(by_rows, t, work, results[0]);
    // Signs are free in each column. R's diagonal is made positive, as the
    // reference's is.
    for (std::int64_t i = 0; i < n_; ++i) {
      signs[i] = by_rows[i * n_ + i] < 0 ? -1 : 1;
      for (std::int64_t j = 0; j < n_; ++j) {
        results[1][i * n_ + j] = j < i ? 0 : signs[i] * by_rows[i * n_ + j];
      }
    }
    for (std::int64_t i = 0; i < m_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) results[0][i * n_ + j] *= signs[j];
    return true;
  }

 private:
  // q is the first columns of H₁ H₂ …, the reflections of each block. What lies
  // by rows LAPACK sees transposed, and so qᵀ = I … H₂ᵀ H₁ᵀ is multiplied up
  // from the last block on, which leaves alone all rows and columns before its
  // own.
  void make_q(const T* reflections, const T* t, T* work, T* q) const {
    std::fill_n(q, m_ * n_, T(0));
    for (std::int64_t i = 0; i < n_; ++i) q[i * n_ + i] = 1;
    for (std::int64_t i = (n_ - 1) / block_ * block_; i >= 0; i -= block_) {
      lapack::multiply_by_transposed_block(to_lapack(n_ - i), to_lapack(m_ - i),
                                           to_lapack(std::min(block_, n_ - i)),
                                           reflections + i * n_ + i,
                                           t + i * block_, to_lapack(block_),
                                           q + i * n_ + i, to_lapack(n_), work);
    }
  }

  std::int64_t m_, n_, block_;
};

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
    return n_ + std::max<std::int64_t>(2 * half_integers_, 4 * n_);
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

// LAPACK reads by columns, and so sees the transpose, v diag(s) uᵀ.
template <class T>
class SvdFactoring {
 public:
  explicit SvdFactoring(const Sides& sides)
      : m_(sides.rows), n_(sides.columns), k_(std::min(m_, n_)) {
    lapack_int none_there = 0;
    work_ = asked([&](double* size, lapack_int none) {
      return lapack::gesdd(to_lapack(n_), to_lapack(m_),
                           static_cast<double*>(nullptr), nullptr, nullptr,
                           nullptr, size, none, &none_there);
    });
  }

  std::int64_t numbers() const { return m_ * n_ + k_ + work_; }
  std::int64_t integers() const { return 8 * k_; }  // what gesdd asks for

  bool run(const T* a, T* const* results, Pieces<T> memory,
           lapack_int* integers) const {
    const OnOneThread on_one_thread;
    T* copy = memory.take(m_ * n_);
    std::copy_n(a, m_ * n_, copy);
    T* farthest = memory.take(k_);
    // The left vectors of the transpose, by columns, are what vᵀ is by rows,
    // and its right ones are u: LAPACK writes both where they are wanted.
    if (lapack::gesdd(to_lapack(n_), to_lapack(m_), copy, results[1],
                      results[2], results[0], memory.take(work_),
                      to_lapack(work_), integers) != 0) {
      return false;
    }
    orient_columns(m_, k_, results[0], farthest, results[2], n_);
    return true;
  }

 private:
  std::int64_t m_, n_, k_, work_;
};

// Factors each matrix of a stack.
template <class T, class Factoring>
class FactorKernel final : public PreparedKernel {
 public:
  explicit FactorKernel(const OpCall& call)
      : sides_(call.input(0)), factoring_(sides_) {
    for (const TensorType& type : call.outputs) {
      results_.push_back(type.shape.num_elements() / sides_.count);
    }
  }

  // There is memory for each task and not for each thread, as the number of
  // threads may change between runs.
  std::size_t scratch_bytes() const override {
    return at(std::min(sides_.count, kMostMatrixTasks) * task_bytes());
  }

  void run(const KernelBuffers& buffers) noexcept override {
    // A single one may share its work out itself.
    if (sides_.count == 1) {
      return factor(buffers, 0, static_cast<std::byte*>(buffers.scratch));
    }
    for_each_matrix(sides_.count, least_matrices(sides_),
                    [&](std::int64_t i, std::int64_t task) {
                      factor(buffers, i,
                             static_cast<std::byte*>(buffers.scratch) +
                                 task * task_bytes());
                    });
  }

 private:
  static constexpr std::int64_t kCacheLine = 64;

  std::int64_t number_bytes() const {
    return factoring_.numbers() * static_cast<std::int64_t>(sizeof(T));
  }
  // Each task's numbers are aligned.
  std::int64_t task_bytes() const {
    const std::int64_t bytes =
        number_bytes() +
        factoring_.integers() * static_cast<std::int64_t>(sizeof(lapack_int));
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  }

  void factor(const KernelBuffers& buffers, std::int64_t i,
              std::byte* memory) const {
    const T* a = input_of<T>(buffers, 0) + i * sides_.size();
    T* results[3] = {};
    for (std::size_t n = 0; n < results_.size(); ++n) {
      results[n] = output_of<T>(buffers, n) + i * results_[n];
    }
    // LAPACK does not say what it makes of numbers that are not finite; the op
    // says NaN.
    const bool has_factors =
        is_all_finite(std::span<const T>(a, at(sides_.size()))) &&
        factoring_.run(a, results, Pieces<T>(reinterpret_cast<T*>(memory)),
                       reinterpret_cast<lapack_int*>(memory + number_bytes()));
    if (has_factors) return;
    for (std::size_t n = 0; n < results_.size(); ++n) {
      std::fill_n(results[n], results_[n], std::numeric_limits<T>::quiet_NaN());
    }
  }

  Sides sides_;
  Factoring factoring_;
  std::vector<std::int64_t> results_;  // the size of each, of one matrix
};

template <template <class> class Factoring>
std::unique_ptr<PreparedKernel> prepare_factors(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) {
    return std::make_unique<FactorKernel<double, Factoring<double>>>(call);
  }
  return std::make_unique<FactorKernel<float, Factoring<float>>>(call);
}

// LAPACK counts elements with 32 bits.
std::optional<std::string> lapack_declines(const OpCall& call) {
  if (auto reason = declines_matrices(call)) return reason;
  if (Sides(call.input(0)).size() > std::numeric_limits<lapack_int>::max()) {
    return "a matrix has too many elements";
  }
  return std::nullopt;
}

// Four of its squares are what gesdd works in, and one what stedc does; they
// count them with 32 bits.
constexpr std::int64_t kMostDivided = 23'000;

std::optional<std::string> divide_and_conquer_declines(const OpCall& call) {
  if (auto reason = lapack_declines(call)) return reason;
  const Sides sides(call.input(0));
  if (std::min(sides.rows, sides.columns) > kMostDivided) {
    return fmt::format(
        "more than {} rows and columns need a workspace of too many numbers",
        kMostDivided);
  }
  return std::nullopt;
}

}  // namespace

void register_library_factorings(KernelRegistry& kernels) {
  kernels.add({"qr", "lapack:geqrt", 10, lapack_declines,
               prepare_factors<QrFactoring>});
  kernels.add({"eigh", "lapack:stedc", 10, divide_and_conquer_declines,
               prepare_factors<EighFactoring>});
  kernels.add({"svd", "lapack:gesdd", 10, divide_and_conquer_declines,
               prepare_factors<SvdFactoring>});
}

}  // namespace weft
