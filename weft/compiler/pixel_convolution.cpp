#include "weft/compiler/pixel_convolution.h"

namespace weft {

bool is_pixel_convolution(const MatchedNode& convolution) {
  const Shape& w = convolution.operand(1).shape;
  const Attributes& attributes = convolution.attributes();
  return w[0] == 1 && w[1] == 1 &&
         attributes.integers("strides") == Integers{1, 1} &&
         attributes.integers("padding") == Integers{0, 0, 0, 0} &&
         attributes.integer("groups") == 1 &&
         attributes.text("activation") == "none";
}

Dim pixels_of(const TensorType& image) {
  return image.shape[0] * image.shape[1] * image.shape[2];
}

}  // namespace weft
