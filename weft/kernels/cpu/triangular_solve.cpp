// Triangles solved in blocks of rows (simd/triangle.h). A library was slower
// for few right sides, and let NaN in one reach those beside it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/triangular_solve.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/matrix_stacks.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/triangle.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// Right sides of a task, two vectors of AVX-512: few, for threads to share out.
template <class T>
constexpr std::size_t kColumns = 128 / sizeof(T);

template <class T>
std::unique_ptr<PreparedKernel> make_triangular_solve(const OpCall& call) {
  const TensorType& right = call.input(1);
  const int rank = right.shape.rank();
  const auto n = at(right.shape[rank - 2]);
  const auto m = at(right.shape.back());
  const auto count = at(product(right.shape.first(rank - 2)));
  const Attributes& attributes = call.attributes;
  const simd::Triangle<T> form{nullptr,
                               n,
                               n,
                               attributes.flag("lower"),
                               attributes.flag("transpose"),
                               attributes.flag("unit_diagonal")};
  const std::size_t panels = (m + kColumns<T> - 1) / kColumns<T>;
  constexpr std::size_t kLeastProducts = 1 << 15;  // worth a thread
  const std::size_t grain = 1 + kLeastProducts / (n * n * kColumns<T>);
  return make_kernel([=](const KernelBuffers& buffers) {
    parallel_for(static_cast<std::int64_t>(count * panels),
                 static_cast<std::int64_t>(grain),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::size_t task = at(begin); task < at(end); ++task) {
                     const std::size_t matrix = task / panels;
                     const std::size_t column = task % panels * kColumns<T>;
                     const std::size_t columns =
                         std::min(kColumns<T>, m - column);
                     const std::size_t place = matrix * n * m + column;
                     const T* b = input_of<T>(buffers, 1) + place;
                     T* x = output_of<T>(buffers, 0) + place;
                     for (std::size_t i = 0; i < n; ++i) {
                       std::copy_n(b + i * m, columns, x + i * m);
                     }
                     simd::Triangle<T> a = form;
                     a.data = input_of<T>(buffers, 0) + matrix * n * n;
                     simd::solve<T>(a, 0, n, columns, {x, m});
                   }
                 });
  });
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "triangular_solve",
       .name = "simd:triangular_solve",
       .rank = 10,
       .declines = declines_matrices,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return call.input(0).dtype == DType::kF64
                    ? make_triangular_solve<double>(call)
                    : make_triangular_solve<float>(call);
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_triangular_solve(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
