// For kernels that are a template over the first operand's element, any float.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/graph/kernel.h"

namespace weft {

// Declines other dtypes, and nothing to compute.
inline std::optional<std::string> declines_no_float(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (!is_floating(dtype)) {
    return fmt::format("computes in floats, not in {}", to_string(dtype));
  }
  if (call.input(0).shape.num_elements() == 0) return "an operand is empty";
  return std::nullopt;
}

template <template <class> class Kernel>
std::unique_ptr<PreparedKernel> prepare_any_float(const OpCall& call) {
  switch (call.input(0).dtype) {
    case DType::kF64:
      return std::make_unique<Kernel<double>>(call);
    case DType::kBF16:
      return std::make_unique<Kernel<bfloat16>>(call);
    case DType::kF16:
      return std::make_unique<Kernel<float16>>(call);
    default:
      return std::make_unique<Kernel<float>>(call);
  }
}

}  // namespace weft
