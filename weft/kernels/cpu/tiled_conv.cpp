// Convolutions of f32 without a library, as products: what weft_core has. Where
// oneDNN is, it is faster.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/tiled_conv.cpp"
#include <hwy/foreach_target.h>
#include <limits>
#include <optional>

#include "weft/kernels/cpu/window_products.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/tiled_products.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

struct TiledWindows {
  using Number = float;
  static constexpr std::size_t kScratchBytes = simd::kMostTiledScratch;
  // Its products count in 64 bits, where BLAS counts in 32.
  static constexpr std::int64_t kMostRows =
      std::numeric_limits<std::int64_t>::max();

  static void run(std::int64_t m, std::int64_t n, std::int64_t k,
                  const WindowMatrix<const float>& a,
                  const WindowMatrix<const float>& b, bool adds,
                  const WindowMatrix<float>& c, float* scratch) noexcept {
    const simd::TiledOperands operands{
        simd::left_tile(a.data, a.stride, a.transpose),
        simd::left_tile(b.data, b.stride, b.transpose),
        {c.data, at(c.stride)}};
    simd::tiled_products({m, n, k}, adds, scratch,
                         [&](std::int64_t) { return operands; });
  }
};

void add_kernels(KernelRegistry& kernels,
                 std::optional<std::string> (*declines)(const OpCall&)) {
  const auto add = [&](const char* op, auto prepare) {
    kernels.add({.op = op,
                 .name = "simd:im2col",
                 // Only the plain references come after it.
                 .rank = 2,
                 .declines = declines,
                 .prepare = prepare});
  };
  add("conv2d", make_conv2d<TiledWindows>);
  add("conv2d_input_gradient", make_conv2d_input_gradient<TiledWindows>);
  add("conv2d_weight_gradient", make_conv2d_weight_gradient<TiledWindows>);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

std::optional<std::string> tiled_conv_declines(const OpCall& call) {
  for (const TensorType& type : call.inputs) {
    if (type.dtype != DType::kF32) {
      return fmt::format("computes in f32, not in {}", to_string(type.dtype));
    }
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  if (call.outputs[0].dtype != DType::kF32) return "gives f32 only";
  if (call.outputs[0].shape.num_elements() == 0) return "the result is empty";
  return std::nullopt;
}

}  // namespace

void register_cpu_tiled_conv(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels, tiled_conv_declines);
}

}  // namespace weft
#endif
