#include "weft/graph/onnx.h"

namespace weft {

std::string OnnxContext::number(double value, DType dtype) {
  return constant(Tensor::scalar(value, dtype));
}

std::string OnnxContext::list(const Integers& values) {
  return constant(
      Tensor::of<std::int64_t>({static_cast<Dim>(values.size())},
                               std::span<const std::int64_t>(values)));
}

}  // namespace weft
