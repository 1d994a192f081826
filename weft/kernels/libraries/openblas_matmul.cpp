// Matrix products by OpenBLAS: of f64, which oneDNN has not, and of f32 where
// it is the faster one.
#include <algorithm>
#include <memory>
#include <optional>

#include "weft/base/cpu.h"
#include "weft/graph/kernel_times.h"
#include "weft/kernels/libraries/blas.h"
#include "weft/kernels/libraries/blas_kernel.h"

namespace weft {
namespace {

struct OpenBlas {
  // Its threads wait for each other between the parts of a product.
  static constexpr double kLarge = 1 << 26;
  template <class T>
  static void multiply(const Product& p, Dim rows, const T* a, const T* b,
                       T* c) {
    blas_product<T>(rows, p.n(), p.k(), {a, p.a_stride(), p.transpose_a},
                    {b, p.b_stride(), p.transpose_b}, T(0), c, p.n());
  }
  // The processor that it takes this one for: "Zen", "SkylakeX".
  static std::string name() { return openblas_get_corename(); }
};

std::optional<std::string> openblas_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return fmt::format("computes in f32 and f64, not in {}", to_string(dtype));
  }
  // In f64 it is the fastest one for large matrices, and none of oneDNN is
  // there.
  if (dtype == DType::kF32 && instruction_cap()) {
    return "OpenBLAS does not obey WEFT_CPU";
  }
  const Product product(call);
  if (product.is_empty()) return "an operand is empty";
  // BLAS counts in 32 bits.
  if (std::max({product.m(), product.n(), product.k()}) > kMostOfBlas) {
    return "a matrix has too many rows or columns";
  }
  return std::nullopt;
}

// Larger products are measured.
std::optional<std::string> openblas_yields(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64 &&
      call.op.cost()(call).flops < kLeastFlops) {
    return "takes longer to begin than a small product of f64 takes";
  }
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare_openblas(const OpCall& call) {
  if (call.input(0).dtype == DType::kF32) {
    return std::make_unique<BlasProduct<float, OpenBlas>>(Product(call));
  }
  return std::make_unique<BlasProduct<double, OpenBlas>>(Product(call));
}

}  // namespace

void register_library_openblas_matmul(KernelRegistry& kernels) {
  kernels.add({.op = "matmul",
               .name = "openblas:gemm",
               .rank = 5,
               .declines = openblas_declines,
               .prepare = prepare_openblas,
               .competes = true,
               .yields = openblas_yields});
}

}  // namespace weft
