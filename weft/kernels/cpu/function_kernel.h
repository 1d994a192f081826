// Makes a kernel from a function object that holds all it needs.
#pragma once

#include <utility>

#include "weft/graph/kernel.h"

namespace weft {

template <class Function>
class FunctionKernel final : public PreparedKernel {
 public:
  FunctionKernel(Function function, std::size_t scratch_bytes)
      : function_(std::move(function)), scratch_bytes_(scratch_bytes) {}
  void run(const KernelBuffers& buffers) noexcept override {
    function_(buffers);
  }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }

 private:
  Function function_;
  std::size_t scratch_bytes_;
};

// `function` takes const KernelBuffers& and neither allocates nor throws.
template <class Function>
std::unique_ptr<PreparedKernel> make_kernel(Function function,
                                            std::size_t scratch_bytes = 0) {
  return std::make_unique<FunctionKernel<Function>>(std::move(function),
                                                    scratch_bytes);
}

// The address of input or output `i` as T.
template <class T>
const T* input_of(const KernelBuffers& buffers, std::size_t i) {
  return static_cast<const T*>(buffers.inputs[i]);
}
template <class T>
T* output_of(const KernelBuffers& buffers, std::size_t i) {
  return static_cast<T*>(buffers.outputs[i]);
}

}  // namespace weft
