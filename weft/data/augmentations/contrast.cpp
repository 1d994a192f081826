// What pixels differ from the image's mean, times a random factor.
#include <numeric>

#include "weft/data/augmentation.h"
#include "weft/data/jitter.h"

namespace weft {
namespace {

constexpr std::uint32_t kContrastStream = 0x636F6E31;  // "con1"

class Contrast final : public Augmentation {
 public:
  explicit Contrast(double amount) : amount_(amount) {}

  void apply(const ExampleKey& key, const ImagePixels& image) const override {
    if (image.bytes() == 0) return;
    const auto sum = std::accumulate(image.data, image.data + image.bytes(),
                                     std::uint64_t{0});
    const double mean =
        static_cast<double>(sum) / static_cast<double>(image.bytes());
    // The mean is that of all channels, so that colours keep their proportions.
    stretch(image, mean, jitter_factor(key.draw(kContrastStream)[0], amount_));
  }

 private:
  double amount_;
};

}  // namespace

void register_augmentation_contrast(AugmentationRegistry& augmentations) {
  augmentations.add(
      {.name = "contrast",
       .summary = "what pixels differ from their mean, times a random factor",
       .options = {jitter_amount()},
       .make = [](const Options& options) -> std::unique_ptr<Augmentation> {
         return std::make_unique<Contrast>(option<double>(options, "amount"));
       }});
}

}  // namespace weft
