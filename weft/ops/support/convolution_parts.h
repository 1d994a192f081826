// The operands of conv2d_of_parts: images, weights, and a bias or none.
#pragma once

#include "weft/graph/op.h"

namespace weft {

class ConvolutionParts {
 public:
  // Throws through call.error for operands that do not fit each other.
  explicit ConvolutionParts(const OpCall& call);

  std::size_t count() const { return count_; }
  std::size_t index_of_weights() const { return count_; }
  bool has_bias() const { return has_bias_; }
  // What the images are beside each other.
  const TensorType& whole() const { return whole_; }
  const TensorType& weights() const { return weights_; }

 private:
  std::size_t count_;
  bool has_bias_;
  TensorType whole_, weights_;
};

}  // namespace weft
