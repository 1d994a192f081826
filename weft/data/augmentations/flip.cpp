// Mirrors images left and right.
#include <algorithm>

#include "weft/data/augmentation.h"

namespace weft {
namespace {

// A word of crop's block that crop does not read.
constexpr std::uint32_t kFlipStream = 0x61756731;  // "aug1"
constexpr std::size_t kFlipWord = 2;

class Flip final : public Augmentation {
 public:
  explicit Flip(double chance) : chance_(chance) {}

  void apply(const ExampleKey& key, const ImagePixels& image) const override {
    const PhiloxBlock words = key.draw(kFlipStream);
    // The number is in [0, 1), so that a chance of 0 mirrors none and one of 1
    // mirrors all.
    if (uniform_from(words[kFlipWord]) < 1 - chance_) return;
    for (std::int64_t y = 0; y < image.height; ++y) {
      std::uint8_t* left = image.row(y);
      std::uint8_t* right = left + image.row_bytes() - image.channels;
      for (; left < right; left += image.channels, right -= image.channels) {
        std::swap_ranges(left, left + image.channels, right);
      }
    }
  }

 private:
  double chance_;
};

}  // namespace

void register_augmentation_flip(AugmentationRegistry& augmentations) {
  augmentations.add(
      {.name = "flip",
       .summary = "mirrors left and right",
       .options = {{"chance",
                    0.5,
                    "how often an image is mirrored",
                    {.least = 0, .most = 1}}},
       .make = [](const Options& options) -> std::unique_ptr<Augmentation> {
         return std::make_unique<Flip>(option<double>(options, "chance"));
       }});
}

}  // namespace weft
