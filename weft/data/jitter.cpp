#include "weft/data/jitter.h"

#include <algorithm>

namespace weft {

void stretch(const ImagePixels& image, double level, double factor) {
  const auto scale = static_cast<float>(factor);
  // A half is added, so that the cast rounds.
  const auto shift = static_cast<float>(level * (1 - factor) + 0.5);
  for (std::int64_t i = 0; i < image.bytes(); ++i) {
    const float pixel = static_cast<float>(image.data[i]) * scale + shift;
    image.data[i] = static_cast<std::uint8_t>(std::clamp(pixel, 0.0f, 255.0f));
  }
}

}  // namespace weft
