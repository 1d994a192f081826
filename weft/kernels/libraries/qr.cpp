// QR by LAPACK.
#include <algorithm>

#include "weft/kernels/libraries/factor_kernel.h"

namespace weft {
namespace {

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

}  // namespace

void register_library_qr(KernelRegistry& kernels) {
  kernels.add({"qr", "lapack:geqrt", 10, lapack_declines,
               prepare_factors<QrFactoring>});
}

}  // namespace weft
