#include "weft/data/augment.h"

#include <algorithm>

#include "weft/base/philox.h"

namespace weft {
namespace {

constexpr std::uint32_t kChangeStream = 0x61756731;  // "aug1"

// A uniform number in [-most, most] from a random word.
std::int64_t shift_from(std::uint32_t word, std::int64_t most) {
  // The high half of the product is uniform without a division; its bias is
  // below span / 2^32.
  const auto span = static_cast<std::uint64_t>(2 * most + 1);
  return static_cast<std::int64_t>((word * span) >> 32) - most;
}

}  // namespace

ImageChange draw_change(const Augmentation& augmentation, std::uint64_t seed,
                        std::uint32_t epoch, std::uint64_t index) {
  const PhiloxBlock words =
      RandomStream{seed, kChangeStream, epoch}.block(index);
  // The change is a function of the seed, the epoch and the example: it does
  // not depend on who makes the batch, nor on which batch it is.
  ImageChange change;
  if (augmentation.crop) {
    change.down = shift_from(words[0], kCropPadding);
    change.right = shift_from(words[1], kCropPadding);
  }
  // The flip has a word of its own, so that switching crops on does not change
  // it.
  change.is_mirrored = augmentation.flip && (words[2] >> 31) != 0;
  return change;
}

ImageConverter::ImageConverter(const Shape& shape, const PixelScale& scale)
    : height_(shape[0]), width_(shape[1]), channels_(shape[2]) {
  const auto channels = static_cast<std::size_t>(channels_);
  WEFT_CHECK(scale.mean.size() == channels && scale.std.size() == channels);
  const auto row = static_cast<std::size_t>(width_) * channels;
  for (std::size_t i = 0; i < row; ++i) {
    mean_.push_back(scale.mean[i % channels]);
    std_.push_back(scale.std[i % channels]);
  }
}

void ImageConverter::convert(const std::uint8_t* image,
                             const ImageChange& change, float* out) const {
  const std::int64_t row = width_ * channels_;
  for (std::int64_t y = 0; y < height_; ++y, out += row) {
    const std::int64_t from_y = y + change.down;
    if (from_y < 0 || from_y >= height_) {
      fill(out, width_);
      continue;
    }
    const std::uint8_t* from = image + from_y * row;
    // The plain case has an inner loop that the compiler can vectorise.
    if (!change.is_mirrored && change.right == 0) {
      for (std::int64_t i = 0; i < row; ++i) {
        const auto at = static_cast<std::size_t>(i);
        out[i] = (static_cast<float>(from[i]) - mean_[at]) / std_[at];
      }
      continue;
    }
    for (std::int64_t x = 0; x < width_; ++x) {
      // The window is cut first and mirrored then.
      const std::int64_t from_x =
          (change.is_mirrored ? width_ - 1 - x : x) + change.right;
      if (from_x < 0 || from_x >= width_) {
        fill(out + x * channels_, 1);
        continue;
      }
      for (std::int64_t c = 0; c < channels_; ++c) {
        const auto at = static_cast<std::size_t>(c);
        const auto pixel = static_cast<float>(from[from_x * channels_ + c]);
        out[x * channels_ + c] = (pixel - mean_[at]) / std_[at];
      }
    }
  }
}

void ImageConverter::fill(float* out, std::int64_t pixels) const {
  for (std::int64_t i = 0; i < pixels * channels_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    // Padding is black before it is scaled, as if the file had it.
    out[i] = (0.0f - mean_[at]) / std_[at];
  }
}

}  // namespace weft
