// Masks of decoders that stand in a model as tensors, as exporters leave them
// when they fold what made them: later keys are hidden from each query.
//
// Threads: immutable.
#pragma once

#include <optional>

#include "weft/graph/value.h"
#include "weft/tensor/tensor.h"

namespace weft::onnx {

// [1, …, queries, keys], with two queries and two keys at least: of bool, one
// value up to each query's own place and the other behind it; or of f32, 0 and
// behind it one fill of -1e30 or less.
class CausalMask {
 public:
  // Looks at each element once.
  static std::optional<CausalMask> found_in(const Tensor& tensor);

  // The same values, compared and chosen in the current context.
  Value staged() const;

 private:
  Shape shape_;
  DType dtype_ = DType::kBool;
  // What stands behind the query's place: 1 or 0 for a bool.
  double later_ = 0;
};

}  // namespace weft::onnx
