// Casts between i64 and floats: no number holds both, so that no loop can. And
// of f32 to i32, which a loop would do in f64, twice as wide.
#include <algorithm>
#include <limits>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/loop/tile_functions.h"
#include "weft/ops/support/scalar_functions.h"

namespace weft {
namespace {

// Elements that are worth a thread.
constexpr std::int64_t kElementsPerThread = 16 << 10;

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_class_v<From>) {
    return converted<To>(static_cast<float>(x));
  } else if constexpr (std::is_class_v<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From>) {
    return saturate<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

// saturate() of f32 without branches, so that the compiler makes vectors of it.
// The largest f32 below 2^31 is 128 below, so that what is held is exact.
std::int32_t to_i32(float x) {
  const float low = x > -0x1p31f ? x : -0x1p31f;
  const float held = low < 0x1.fffffep30f ? low : 0x1.fffffep30f;
  const auto number = static_cast<std::int32_t>(x == x ? held : 0.0f);
  return x >= 0x1p31f ? std::numeric_limits<std::int32_t>::max() : number;
}

// The result may be written over the operand, which is as wide.
void all_to_i32(const float* x, std::int32_t* y, std::int64_t size) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) y[i] = to_i32(x[i]);
}

std::unique_ptr<PreparedKernel> prepare_i32(const OpCall& call) {
  const std::int64_t size = call.outputs[0].shape.num_elements();
  return make_kernel([size](const KernelBuffers& buffers) {
    const auto* x = input_of<float>(buffers, 0);
    auto* y = output_of<std::int32_t>(buffers, 0);
    parallel_for(size, kElementsPerThread,
                 [&](std::int64_t begin, std::int64_t end) {
                   all_to_i32(x + begin, y + begin, end - begin);
                 });
  });
}

std::optional<std::string> declines_i32(const OpCall& call) {
  if (call.input(0).dtype == DType::kF32 &&
      call.outputs[0].dtype == DType::kI32) {
    return std::nullopt;
  }
  return "not from f32 to i32";
}

template <class From, class To>
std::unique_ptr<PreparedKernel> kernel_of(std::int64_t size) {
  return make_kernel([size](const KernelBuffers& buffers) {
    const From* x = input_of<From>(buffers, 0);
    To* y = output_of<To>(buffers, 0);
    parallel_for(
        size, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
          std::transform(x + begin, x + end, y + begin, converted<To, From>);
        });
  });
}

std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  const std::int64_t size = call.outputs[0].shape.num_elements();
  const DType from = call.input(0).dtype;
  const DType to = call.outputs[0].dtype;
  return dispatch(from == DType::kI64 ? to : from,
                  [&]<class Other>(Other) -> std::unique_ptr<PreparedKernel> {
                    if constexpr (std::is_integral_v<Other>) {
                      return nullptr;  // a loop holds it beside i64
                    } else if (from == DType::kI64) {
                      return kernel_of<std::int64_t, Other>(size);
                    } else {
                      return kernel_of<Other, std::int64_t>(size);
                    }
                  });
}

std::optional<std::string> declines(const OpCall& call) {
  if (!tile_type(call.inputs, call.outputs)) return std::nullopt;
  return "a loop does it";
}

}  // namespace

void register_cpu_cast(KernelRegistry& kernels) {
  kernels.add({"cast", "cpu:cast", 10, declines, prepare});
  kernels.add({"cast", "cpu:to_i32", 20, declines_i32, prepare_i32, true});
}

}  // namespace weft
