// Cholesky factors by LAPACK and triangles solved by BLAS.
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

struct Triangle {
  bool is_lower, is_transposed, has_unit_diagonal;
};

// OpenBLAS lets what is not finite in one column reach those beside it: then
// the rows are substituted one by one.
template <class T>
void solve_matrix(const Triangle& t, const Sides& sides, const T* a, const T* b,
                  T* x) {
  // BLAS solves in place, and b must stay.
  std::copy_n(b, sides.size(), x);
  // All are transposes by columns: the triangle is the other one, on the right.
  lapack::trsm(t.is_lower ? 'U' : 'L', t.is_transposed ? 'T' : 'N',
               t.has_unit_diagonal ? 'U' : 'N', to_lapack(sides.columns),
               to_lapack(sides.rows), a, x);
  if (std::all_of(x, x + sides.size(), [](T n) { return std::isfinite(n); })) {
    return;
  }
  std::copy_n(b, sides.size(), x);
  substitute_rows(sides.rows, sides.columns, a, x, t.is_lower, t.is_transposed,
                  t.has_unit_diagonal);
}

template <class T>
std::unique_ptr<PreparedKernel> make_triangular_solve(const OpCall& call) {
  const Sides a(call.input(0));
  const Sides b(call.input(1));
  const Attributes& attributes = call.attributes;
  const Triangle triangle{attributes.flag("lower"),
                          attributes.flag("transpose"),
                          attributes.flag("unit_diagonal")};
  return make_kernel([=](const KernelBuffers& buffers) {
    for_each_matrix(
        a.count, least_matrices(b), [&](std::int64_t i, std::int64_t) {
          solve_matrix(triangle, b, input_of<T>(buffers, 0) + i * a.size(),
                       input_of<T>(buffers, 1) + i * b.size(),
                       output_of<T>(buffers, 0) + i * b.size());
        });
  });
}

std::unique_ptr<PreparedKernel> prepare_cholesky(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) return make_cholesky<double>(call);
  return make_cholesky<float>(call);
}
std::unique_ptr<PreparedKernel> prepare_solve(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) {
    return make_triangular_solve<double>(call);
  }
  return make_triangular_solve<float>(call);
}

}  // namespace

void register_library_linalg(KernelRegistry& kernels) {
  kernels.add(
      {"cholesky", "lapack:potrf", 10, lapack_declines, prepare_cholesky});
  kernels.add(
      {"triangular_solve", "blas:trsm", 10, lapack_declines, prepare_solve});
}

}  // namespace weft
