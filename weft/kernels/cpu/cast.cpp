// Casts between i64 and floats. No number holds both, so that no loop can.
#include <algorithm>

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
}

}  // namespace weft
