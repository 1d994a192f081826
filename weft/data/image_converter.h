// The way from pixels to numbers.
//
// Threads: immutable; share freely. Allocates only on construction.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/data/dataset.h"

namespace weft {

// Turns u8 images [H, W, C] into f32 ones of the same shape.
class ImageConverter {
 public:
  ImageConverter(const Shape& shape, const PixelScale& scale);

  void convert(const std::uint8_t* image, float* out) const;

 private:
  std::int64_t rows_;
  // Kept per element of a row, so that the inner loop knows no channels.
  std::vector<float> mean_;
  std::vector<float> std_;
};

}  // namespace weft
