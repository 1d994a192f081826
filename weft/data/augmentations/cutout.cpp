// A black square around a random pixel, of which a part may lie outside
// (DeVries and Taylor, "Improved regularization of convolutional neural
// networks with cutout", 2017).
#include <algorithm>
#include <cstring>

#include "weft/data/augmentation.h"

namespace weft {
namespace {

constexpr std::uint32_t kCutoutStream = 0x63757431;  // "cut1"

class Cutout final : public Augmentation {
 public:
  explicit Cutout(std::int64_t size) : size_(size) {}

  void apply(const ExampleKey& key, const ImagePixels& image) const override {
    const PhiloxBlock words = key.draw(kCutoutStream);
    const auto [top, bottom] = part_of(words[0], image.height);
    const auto [left, right] = part_of(words[1], image.width);
    for (std::int64_t y = top; y < bottom; ++y) {
      std::memset(image.row(y) + left * image.channels, 0,
                  static_cast<std::size_t>((right - left) * image.channels));
    }
  }

 private:
  // What of an axis the square covers: [first, last).
  std::pair<std::int64_t, std::int64_t> part_of(std::uint32_t word,
                                                std::int64_t axis) const {
    const auto centre = static_cast<std::int64_t>(
        (word * static_cast<std::uint64_t>(axis)) >> 32);
    const std::int64_t first = centre - size_ / 2;
    return {std::max<std::int64_t>(first, 0), std::min(first + size_, axis)};
  }

  std::int64_t size_;
};

}  // namespace

void register_augmentation_cutout(AugmentationRegistry& augmentations) {
  augmentations.add(
      {.name = "cutout",
       .summary = "a black square around a random pixel",
       .options = {{"size",
                    std::int64_t{16},
                    "of a side",
                    {.least = 1, .most = 1024},
                    {},
                    "pixels"}},
       .make = [](const Options& options) -> std::unique_ptr<Augmentation> {
         return std::make_unique<Cutout>(option<std::int64_t>(options, "size"));
       }});
}

}  // namespace weft
