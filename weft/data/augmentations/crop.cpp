// A window of the image's size, somewhere over the image with a frame of black
// pixels around it (He et al., "Deep residual learning", 2016, section 4.2).
#include <cstring>

#include "weft/data/augmentation.h"

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

// `to` becomes the row `from` with its first pixel `bytes` further on; they may
// be the same row.
void shift_row(const std::uint8_t* from, std::uint8_t* to, std::int64_t row,
               std::int64_t bytes) {
  const std::int64_t gap = std::min(std::abs(bytes), row);
  const auto kept = static_cast<std::size_t>(row - gap);
  const bool is_left = bytes >= 0;
  std::memmove(is_left ? to : to + gap, is_left ? from + gap : from, kept);
  std::memset(is_left ? to + kept : to, 0, static_cast<std::size_t>(gap));
}

class Crop final : public Augmentation {
 public:
  explicit Crop(std::int64_t padding) : padding_(padding) {}

  void apply(const ExampleKey& key, const ImagePixels& image) const override {
    const PhiloxBlock words = key.draw(kChangeStream);
    const std::int64_t down = shift_from(words[0], padding_);
    const std::int64_t right = shift_from(words[1], padding_);
    const std::int64_t row = image.row_bytes();
    for (std::int64_t i = 0; i < image.height; ++i) {
      // Rows are written in the order in which none is needed any more.
      const std::int64_t y = down >= 0 ? i : image.height - 1 - i;
      const std::int64_t from = y + down;
      if (from < 0 || from >= image.height) {
        std::memset(image.row(y), 0, static_cast<std::size_t>(row));
      } else {
        shift_row(image.row(from), image.row(y), row, right * image.channels);
      }
    }
  }

 private:
  std::int64_t padding_;
};

}  // namespace

void register_augmentation_crop(AugmentationRegistry& augmentations) {
  augmentations.add(
      {.name = "crop",
       .summary = "moves the image, black pixels come in at its edges",
       .options = {{"padding",
                    std::int64_t{4},
                    "how far at most, each way",
                    {.least = 0, .most = 1024},
                    {},
                    "pixels"}},
       .make = [](const Options& options) -> std::unique_ptr<Augmentation> {
         return std::make_unique<Crop>(
             option<std::int64_t>(options, "padding"));
       }});
}

}  // namespace weft
