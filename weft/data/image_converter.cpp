#include "weft/data/image_converter.h"

namespace weft {

ImageConverter::ImageConverter(const Shape& shape, const PixelScale& scale)
    : rows_(shape[0]) {
  const auto channels = static_cast<std::size_t>(shape[2]);
  WEFT_CHECK(scale.mean.size() == channels && scale.std.size() == channels);
  const auto row = static_cast<std::size_t>(shape[1]) * channels;
  for (std::size_t i = 0; i < row; ++i) {
    // The scale of a row is written out, so that the loop over one needs no
    // remainder to find a channel.
    mean_.push_back(scale.mean[i % channels]);
    std_.push_back(scale.std[i % channels]);
  }
}

void ImageConverter::convert(const std::uint8_t* image, float* out) const {
  for (std::int64_t y = 0; y < rows_; ++y) {
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      out[i] = (static_cast<float>(image[i]) - mean_[i]) / std_[i];
    }
    image += mean_.size();
    out += mean_.size();
  }
}

}  // namespace weft
