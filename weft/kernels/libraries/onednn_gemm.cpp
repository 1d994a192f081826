// Matrix products of f32 by oneDNN's entry of BLAS, which packs its operands in
// blocks that fit the caches.
#include <memory>
#include <optional>

#include "weft/kernels/lapack/library.h"
#include "weft/kernels/libraries/blas_kernel.h"
#include "weft/kernels/onednn/gemm.h"
#include "weft/kernels/onednn/version.h"

namespace weft {
namespace {

struct OnednnBlas {
  static constexpr double kLarge = 1 << 24;
  static void multiply(const Product& p, Dim rows, const float* a,
                       const float* b, float* c) {
    onednn::gemm(rows, p.n(), p.k(), {a, p.a_stride(), p.transpose_a},
                 {b, p.b_stride(), p.transpose_b}, 0.f, c, p.n());
  }
  static std::string name() { return ""; }
};

std::optional<std::string> onednn_declines(const OpCall& call) {
  if (call.input(0).dtype != DType::kF32) return "computes in f32 only";
  if (Product(call).is_empty()) return "an operand is empty";
  return std::nullopt;
}

// It has kernels for few rows, as the nodes of a tree at one depth are; and
// packing pays once a row of the result, or everything, outgrows the caches.
std::optional<std::string> onednn_yields(const OpCall& call) {
  constexpr Dim kWideRow = 4096;
  constexpr Dim kFewRows = 64;
  constexpr double kLarge = 1 << 27;
  const Product product(call);
  if (!product.is_plain()) return "pays for two matrices, not for stacks";
  if (product.multiplications() >= kLarge) return std::nullopt;
  // Less is over so soon that another pass over the result would show.
  if (product.has_bias || product.is_relu) return "fuses no bias or relu";
  if (product.n() >= kWideRow || product.m() <= kFewRows) return std::nullopt;
  return fmt::format("pays for up to {} rows, rows of {} on, or much of both",
                     kFewRows, kWideRow);
}

std::unique_ptr<PreparedKernel> prepare_onednn(const OpCall& call) {
  return std::make_unique<BlasProduct<float, OnednnBlas>>(Product(call));
}

}  // namespace

std::string kernel_libraries() {
  return fmt::format("oneDNN {}, {}", onednn::version(), lapack_library());
}

void register_library_onednn_gemm(KernelRegistry& kernels) {
  kernels.add({.op = "matmul",
               .name = "onednn:gemm",
               .rank = 20,
               .declines = onednn_declines,
               .prepare = prepare_onednn,
               .competes = true,
               .yields = onednn_yields});
}

}  // namespace weft
