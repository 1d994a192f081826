// Cholesky factors by LAPACK.
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/index.h"
#include "weft/kernels/libraries/lapack.h"
#include "weft/kernels/libraries/matrix_stacks.h"
#include "weft/ops/support/factors.h"

namespace weft {
namespace {

template <class T>
void cholesky_of_matrix(std::int64_t n, const T* a, T* l) {
  for_each_by_tiles(n, n, [=](std::int64_t i, std::int64_t j) {
    l[i * n + j] = (a[i * n + j] + a[j * n + i]) / 2;
  });
  // LAPACK's lower triangle by columns lies above the diagonal by rows, where
  // it is lᵀ. OpenBLAS is faster with it than with the other one.
  if (is_all_finite(std::span<const T>(l, at(n * n))) &&
      lapack::potrf('L', to_lapack(n), l) == 0) {
    for_each_by_tiles(n, n, [=](std::int64_t i, std::int64_t j) {
      if (j <= i) return;
      l[j * n + i] = l[i * n + j];
      l[i * n + j] = 0;
    });
  } else {
    std::fill_n(l, n * n, std::numeric_limits<T>::quiet_NaN());
  }
}

template <class T>
std::unique_ptr<PreparedKernel> make_cholesky(const OpCall& call) {
  const Sides sides(call.input(0));
  return make_kernel([=](const KernelBuffers& buffers) {
    for_each_matrix(
        sides.count, least_matrices(sides), [&](std::int64_t i, std::int64_t) {
          cholesky_of_matrix(sides.rows,
                             input_of<T>(buffers, 0) + i * sides.size(),
                             output_of<T>(buffers, 0) + i * sides.size());
        });
  });
}

std::unique_ptr<PreparedKernel> prepare_cholesky(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) return make_cholesky<double>(call);
  return make_cholesky<float>(call);
}
}  // namespace

void register_library_linalg(KernelRegistry& kernels) {
  kernels.add(
      {"cholesky", "lapack:potrf", 10, lapack_declines, prepare_cholesky});
}

}  // namespace weft
