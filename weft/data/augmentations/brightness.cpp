// Pixels times a random factor.
#include "weft/data/augmentation.h"
#include "weft/data/jitter.h"

namespace weft {
namespace {

constexpr std::uint32_t kBrightnessStream = 0x62726731;  // "brg1"

class Brightness final : public Augmentation {
 public:
  explicit Brightness(double amount) : amount_(amount) {}

  void apply(const ExampleKey& key, const ImagePixels& image) const override {
    // Differences from 0 are the pixels themselves.
    stretch(image, 0, jitter_factor(key.draw(kBrightnessStream)[0], amount_));
  }

 private:
  double amount_;
};

}  // namespace

void register_augmentation_brightness(AugmentationRegistry& augmentations) {
  augmentations.add(
      {.name = "brightness",
       .summary = "pixels times a random factor",
       .options = {jitter_amount()},
       .make = [](const Options& options) -> std::unique_ptr<Augmentation> {
         return std::make_unique<Brightness>(option<double>(options, "amount"));
       }});
}

}  // namespace weft
