// Convolutions of f32 and f64 without a library, as products: what weft_core
// has, and what there is for f64 where OpenBLAS is not. Where libraries are,
// they are faster.
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

template <class T>
struct TiledWindows {
  using Number = T;
  static constexpr std::size_t kScratchBytes = simd::kMostTiledScratch;
  // Its products count in 64 bits, where BLAS counts in 32.
  static constexpr std::int64_t kMostRows =
      std::numeric_limits<std::int64_t>::max();

  static void run(std::int64_t m, std::int64_t n, std::int64_t k,
                  const WindowMatrix<const T>& a,
                  const WindowMatrix<const T>& b, bool adds,
                  const WindowMatrix<T>& c, T* scratch) noexcept {
    const simd::TiledOperands<T> operands{
        simd::left_tile(a.data, a.stride, a.transpose),
        simd::left_tile(b.data, b.stride, b.transpose),
        {c.data, at(c.stride)}};
    simd::tiled_products({m, n, k}, adds, scratch,
                         [&](std::int64_t) { return operands; });
  }
};

bool is_f64(const OpCall& call) { return call.input(0).dtype == DType::kF64; }

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
  add("conv2d", [](const OpCall& call) {
    return is_f64(call) ? make_conv2d<TiledWindows<double>>(call)
                        : make_conv2d<TiledWindows<float>>(call);
  });
  add("conv2d_input_gradient", [](const OpCall& call) {
    return is_f64(call) ? make_conv2d_input_gradient<TiledWindows<double>>(call)
                        : make_conv2d_input_gradient<TiledWindows<float>>(call);
  });
  add("conv2d_weight_gradient", [](const OpCall& call) {
    return is_f64(call)
               ? make_conv2d_weight_gradient<TiledWindows<double>>(call)
               : make_conv2d_weight_gradient<TiledWindows<float>>(call);
  });
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

std::optional<std::string> tiled_conv_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return fmt::format("computes in f32 and f64, not in {}", to_string(dtype));
  }
  for (const TensorType& type : call.inputs) {
    if (type.dtype != dtype) return "computes in one dtype";
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  if (call.outputs[0].dtype != dtype) return "gives the dtype of its operands";
  if (call.outputs[0].shape.num_elements() == 0) return "the result is empty";
  return std::nullopt;
}

}  // namespace

void register_cpu_tiled_conv(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels, tiled_conv_declines);
}

}  // namespace weft
#endif
