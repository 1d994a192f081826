// Values that need no input.
#include <algorithm>
#include <cstring>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"

namespace weft {
namespace {

// A thread is worth its start from about so many stores on.
constexpr std::int64_t kElementsPerThread = 32 << 10;

std::unique_ptr<PreparedKernel> prepare_constant(const OpCall& call) {
  // The kernel shares the tensor, so the value lives as long as it does.
  const Tensor value = call.attributes.get<Tensor>("value");
  return make_kernel([value](const KernelBuffers& buffers) {
    if (value.bytes() == 0) return;
    std::memcpy(buffers.outputs[0], value.raw(), value.bytes());
  });
}

std::unique_ptr<PreparedKernel> prepare_full(const OpCall& call) {
  const TensorType& type = call.outputs[0];
  const std::int64_t size = type.shape.num_elements();
  // The attribute is rounded to the dtype once, and the loop copies the result.
  const Tensor element =
      Tensor::scalar(call.attributes.real("value"), type.dtype);
  return dispatch(type.dtype,
                  [&]<class T>(T) -> std::unique_ptr<PreparedKernel> {
                    const T value = *element.data<T>();
                    return make_kernel([=](const KernelBuffers& buffers) {
                      T* y = output_of<T>(buffers, 0);
                      parallel_for(size, kElementsPerThread,
                                   [&](std::int64_t begin, std::int64_t end) {
                                     std::fill(y + begin, y + end, value);
                                   });
                    });
                  });
}

std::optional<std::string> declines_iota(const OpCall& call) {
  if (is_integer(call.outputs[0].dtype)) return std::nullopt;
  return "rounds each element";
}

std::unique_ptr<PreparedKernel> prepare_iota(const OpCall& call) {
  const std::int64_t size = call.outputs[0].shape.num_elements();
  return dispatch(call.outputs[0].dtype,
                  [&]<class T>(T) -> std::unique_ptr<PreparedKernel> {
                    if constexpr (!std::is_integral_v<T>)
                      return nullptr;
                    else
                      return make_kernel([=](const KernelBuffers& buffers) {
                        T* y = output_of<T>(buffers, 0);
                        for (std::int64_t i = 0; i < size; ++i)
                          y[i] = static_cast<T>(i);
                      });
                  });
}

}  // namespace

void register_cpu_constant(KernelRegistry& kernels) {
  kernels.add({"constant", "cpu:copy", 10, nullptr, prepare_constant});
  kernels.add({"full", "cpu:fill", 10, nullptr, prepare_full});
  kernels.add({"iota", "cpu:fill", 10, declines_iota, prepare_iota});
}

}  // namespace weft
