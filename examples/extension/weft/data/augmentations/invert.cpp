// Negatives: black for white and white for black.
#include "weft/data/augmentation.h"

namespace weft {
namespace {

constexpr std::uint32_t kInvertStream = 0x696E7631;  // "inv1"

class Invert final : public Augmentation {
 public:
  explicit Invert(double chance) : chance_(chance) {}

  void apply(const ExampleKey& key, const ImagePixels& image) const override {
    if (uniform_from(key.draw(kInvertStream)[0]) >= chance_) return;
    for (std::int64_t i = 0; i < image.bytes(); ++i) {
      image.data[i] = static_cast<std::uint8_t>(255 - image.data[i]);
    }
  }

 private:
  double chance_;
};

}  // namespace

void register_augmentation_invert(AugmentationRegistry& augmentations) {
  augmentations.add(
      {.name = "invert",
       .summary = "black for white and white for black",
       .options = {{"chance",
                    0.5,
                    "how often an image is inverted",
                    {.least = 0, .most = 1}}},
       .make = [](const Options& options) -> std::unique_ptr<Augmentation> {
         return std::make_unique<Invert>(option<double>(options, "chance"));
       }});
}

}  // namespace weft
