// These are for kernels that are a template over the first operand's element:
// f32 or bf16.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/graph/kernel.h"

namespace weft {

// Declines other dtypes, and nothing to compute.
inline std::optional<std::string> declines_f32_or_bf16(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kBF16) {
    return fmt::format("computes in f32 and bf16, not in {}", to_string(dtype));
  }
  if (call.input(0).shape.num_elements() == 0) return "an operand is empty";
  return std::nullopt;
}

template <template <class> class Kernel>
std::unique_ptr<PreparedKernel> prepare_f32_or_bf16(const OpCall& call) {
  if (call.input(0).dtype == DType::kBF16) {
    return std::make_unique<Kernel<bfloat16>>(call);
  }
  return std::make_unique<Kernel<float>>(call);
}

}  // namespace weft
