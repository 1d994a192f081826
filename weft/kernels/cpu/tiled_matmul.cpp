// Products of matrices of f32 and f64 without a library: what weft_core has. In
// f64 they are faster than OpenBLAS on some processors, by its version; in f32
// the libraries are as fast or faster.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/tiled_matmul.cpp"
#include <hwy/foreach_target.h>
#include <optional>

#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/cpu/product.h"
#include "weft/kernels/cpu/tail.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/tiled_products.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

template <class T>
std::unique_ptr<PreparedKernel> tiled_matmul(const OpCall& call) {
  const Product p(call);
  const auto lefts = matrix_offsets(p.a, p.y);
  const auto rights = matrix_offsets(p.b, p.y);
  const simd::TiledSizes size{p.m(), p.n(), p.k(), std::ssize(lefts)};
  return make_kernel(
      [=](const KernelBuffers& buffers) {
        const auto* a = input_of<T>(buffers, 0);
        const auto* b = input_of<T>(buffers, 1);
        auto* y = output_of<T>(buffers, 0);
        // Both operands are packed as left tiles: a transposed one is read
        // along its other side.
        simd::tiled_products(size, false, static_cast<T*>(buffers.scratch),
                             [&](std::int64_t i) -> simd::TiledOperands<T> {
                               return {
                                   simd::left_tile(a + lefts[at(i)],
                                                   p.a_stride(), p.transpose_a),
                                   simd::left_tile(b + rights[at(i)],
                                                   p.b_stride(), p.transpose_b),
                                   {y + i * size.m * size.n, at(size.n)}};
                             });
        // The bias is added when a product is complete, since its sums are
        // taken in several passes.
        add_tail(p.y.shape.num_elements() / size.n, size.n,
                 p.has_bias ? input_of<T>(buffers, 2) : nullptr, p.is_relu, y);
      },
      simd::tiled_scratch_bytes(size));
}

std::unique_ptr<PreparedKernel> prepare_tiled_matmul(const OpCall& call) {
  return call.input(0).dtype == DType::kF64 ? tiled_matmul<double>(call)
                                            : tiled_matmul<float>(call);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

std::optional<std::string> tiled_matmul_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return fmt::format("computes in f32 and f64, not in {}", to_string(dtype));
  }
  if (Product(call).is_empty()) return "an operand is empty";
  return std::nullopt;
}

}  // namespace

void register_cpu_tiled_matmul(KernelRegistry& kernels) {
  kernels.add({.op = "matmul",
               .name = "simd:tiles",
               .rank = 2,
               .declines = tiled_matmul_declines,
               .prepare = WEFT_FOR_MACHINE(prepare_tiled_matmul),
               .competes = true});
}

}  // namespace weft
#endif
