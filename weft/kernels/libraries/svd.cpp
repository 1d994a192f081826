// Singular values and vectors by LAPACK.
#include <algorithm>

#include "weft/kernels/libraries/factor_kernel.h"

namespace weft {
namespace {

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

}  // namespace

void register_library_svd(KernelRegistry& kernels) {
  kernels.add({"svd", "lapack:gesdd", 10, divide_and_conquer_declines,
               prepare_factors<SvdFactoring>});
}

}  // namespace weft
