// Convolutions of f64, which oneDNN has not, as products by OpenBLAS.
#include <algorithm>
#include <optional>

#include "weft/kernels/cpu/window_products.h"
#include "weft/kernels/libraries/blas.h"

namespace weft {
namespace {

struct BlasWindows {
  using Number = double;
  static constexpr std::size_t kScratchBytes = 0;
  static constexpr std::int64_t kMostRows = kMostOfBlas;

  static void run(std::int64_t m, std::int64_t n, std::int64_t k,
                  const WindowMatrix<const double>& a,
                  const WindowMatrix<const double>& b, bool adds,
                  const WindowMatrix<double>& c, double*) noexcept {
    blas_product<double>(m, n, k, {a.data, a.stride, a.transpose},
                         {b.data, b.stride, b.transpose}, adds ? 1. : 0.,
                         c.data, c.stride);
  }
};

std::optional<std::string> blas_conv_declines(const OpCall& call) {
  for (const TensorType& type : call.inputs) {
    if (type.dtype != DType::kF64) {
      return fmt::format("computes in f64, not in {}", to_string(type.dtype));
    }
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  const Shape& result = call.outputs[0].shape;
  if (result.num_elements() == 0) return "the result is empty";
  return std::nullopt;
}

}  // namespace

void register_library_openblas_conv(KernelRegistry& kernels) {
  const auto add = [&](const char* op, auto prepare) {
    kernels.add({.op = op,
                 .name = "openblas:im2col",
                 .rank = 5,
                 .declines = blas_conv_declines,
                 .prepare = prepare});
  };
  add("conv2d", make_conv2d<BlasWindows>);
  add("conv2d_input_gradient", make_conv2d_input_gradient<BlasWindows>);
  add("conv2d_weight_gradient", make_conv2d_weight_gradient<BlasWindows>);
}

}  // namespace weft
