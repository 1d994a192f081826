// What kernels share that address rows by integers.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "weft/base/index.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/strided_copy.h"
#include "weft/ops/support/indexing.h"

namespace weft {

// Calls body with the index type of an operand.
template <class Body>
std::unique_ptr<PreparedKernel> for_indices(DType dtype, Body&& body) {
  if (dtype == DType::kI32) return body(std::int32_t{});
  return body(std::int64_t{});
}

// Calls body with an unsigned integer as wide as an element.
template <class Body>
std::unique_ptr<PreparedKernel> for_width(DType dtype, Body&& body) {
  switch (size_of(dtype)) {
    case 1:
      // Moving an element needs its size, not its dtype.
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

// Copies a whole tensor, for kernels that change parts of it; in place, there
// is nothing to copy.
class WholeCopy {
 public:
  explicit WholeCopy(const TensorType& type)
      : copy_(size_of(type.dtype), {type.shape.num_elements()}, {1}, {1}) {}

  void run(const void* from, void* to) const noexcept {
    if (from != to) copy_.run(from, to);
  }

 private:
  StridedCopy copy_;
};

// Calls body with the dtype of what is summed.
template <class Body>
std::unique_ptr<PreparedKernel> for_summand(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF64:
      return body(double{});
    case DType::kI32:
      return body(std::int32_t{});
    case DType::kI64:
      return body(std::int64_t{});
    default:
      return body(float{});
  }
}

inline std::optional<std::string> declines_sum(const OpCall& call) {
  switch (call.input(0).dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kI32:
    case DType::kI64:
      return std::nullopt;
    default:
      // Narrow floats would round at each addition, and narrow integers wrap.
      return "sums must round once, at the end";
  }
}

// How many pieces of so many bytes are worth a thread.
inline std::int64_t grain_of(std::int64_t bytes_each) {
  constexpr std::int64_t kBytesPerThread = 64 << 10;
  return std::max<std::int64_t>(
      1, kBytesPerThread / std::max<std::int64_t>(1, bytes_each));
}

}  // namespace weft
