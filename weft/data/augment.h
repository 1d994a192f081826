// Random crops and flips of images, and the way from bytes to numbers.
//
// What happens to an example depends on (seed, epoch, index of the example)
// only: not on the batch that it is in, nor on the thread that makes it.
//
// Threads: immutable; share freely. Allocates only on construction.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/data/dataset.h"

namespace weft {

struct Augmentation {
  bool crop = false;  // shift by up to kCropPadding pixels, zeros move in
  bool flip = false;  // mirror left and right, one time in two

  bool operator==(const Augmentation&) const = default;
};

inline constexpr std::int64_t kCropPadding = 4;

// What is done to one image.
struct ImageChange {
  std::int64_t down = 0;  // the window's shift, in pixels
  std::int64_t right = 0;
  bool is_mirrored = false;
};

// The change that `augmentation` draws for an example.
ImageChange draw_change(const Augmentation& augmentation, std::uint64_t seed,
                        std::uint32_t epoch, std::uint64_t index);

// Turns u8 images [H, W, C] into f32 ones of the same shape.
class ImageConverter {
 public:
  ImageConverter(const Shape& shape, const PixelScale& scale);

  // Zero pixels (not zero numbers) move in at the edges.
  void convert(const std::uint8_t* image, const ImageChange& change,
               float* out) const;

 private:
  void fill(float* out, std::int64_t pixels) const;

  std::int64_t height_;
  std::int64_t width_;
  std::int64_t channels_;
  // Kept per element of a row, so that the inner loop knows no channels.
  std::vector<float> mean_;
  std::vector<float> std_;
};

}  // namespace weft
