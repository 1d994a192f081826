// A black rectangle of random size and proportions inside of the image (Zhong
// et al., "Random erasing data augmentation", AAAI 2020).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/data/augmentation.h"

namespace weft {
namespace {

constexpr std::uint32_t kEraseStream = 0x65726131;  // "era1"
constexpr std::uint32_t kPlaceStream = 0x65726132;  // "era2"
// Height over width is between this and its inverse, as in the paper.
constexpr double kNarrowest = 0.3;

struct EraseOptions {
  double chance;
  double least;  // of the image's area
  double most;
};

class Erase final : public Augmentation {
 public:
  explicit Erase(const EraseOptions& options) : options_(options) {}

  void apply(const ExampleKey& key, const ImagePixels& image) const override {
    const PhiloxBlock words = key.draw(kEraseStream);
    if (uniform_from(words[0]) < 1 - options_.chance) return;
    const double share = options_.least + (options_.most - options_.least) *
                                              uniform_from(words[1]);
    // Tall and broad ones are as frequent, as the logarithm is uniform.
    const double ratio =
        std::pow(kNarrowest, 1 - 2 * double{uniform_from(words[2])});
    const double area = share * static_cast<double>(image.height * image.width);
    const PhiloxBlock place = key.draw(kPlaceStream);
    const auto [top, height] =
        part_of(std::sqrt(area * ratio), image.height, place[0]);
    const auto [left, width] =
        part_of(std::sqrt(area / ratio), image.width, place[1]);
    for (std::int64_t y = top; y < top + height; ++y) {
      std::memset(image.row(y) + left * image.channels, 0,
                  static_cast<std::size_t>(width * image.channels));
    }
  }

 private:
  // Where on an axis a side begins, and how long it is: all of the axis where
  // the proportions ask for more.
  static std::pair<std::int64_t, std::int64_t> part_of(double side,
                                                       std::int64_t axis,
                                                       std::uint32_t word) {
    const std::int64_t length =
        std::clamp<std::int64_t>(std::llround(side), 1, axis);
    const auto places = static_cast<std::uint64_t>(axis - length + 1);
    // The product's upper half is uniform below `places`, without the division
    // of a remainder.
    return {static_cast<std::int64_t>((word * places) >> 32), length};
  }

  EraseOptions options_;
};

}  // namespace

void register_augmentation_erase(AugmentationRegistry& augmentations) {
  constexpr NumberRange kShare{.least = 0, .most = 1, .is_open_below = true};
  augmentations.add(
      {.name = "erase",
       .summary = "a black rectangle of random size inside of the image",
       .options = {{"chance",
                    0.5,
                    "how often an image loses one",
                    {.least = 0, .most = 1}},
                   {"least", 0.02, "of the image's area", kShare},
                   {"most", 0.33, "of the image's area", kShare}},
       .make = [](const Options& options) -> std::unique_ptr<Augmentation> {
         const EraseOptions own{.chance = option<double>(options, "chance"),
                                .least = option<double>(options, "least"),
                                .most = option<double>(options, "most")};
         if (own.least <= own.most) return std::make_unique<Erase>(own);
         throw Error(ErrorCode::kInvalidArgument, "erase",
                     "least = {} is more than most = {}", own.least, own.most);
       }});
}

}  // namespace weft
