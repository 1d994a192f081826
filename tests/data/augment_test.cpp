#include "weft/data/augment.h"

#include <gtest/gtest.h>
#include <set>

namespace weft {
namespace {

// 0 … 8, and what padding looks like.
const std::vector<std::uint8_t> kImage{0, 1, 2, 3, 4, 5, 6, 7, 8};
using Numbers = std::vector<float>;

Numbers convert(const ImageChange& change) {
  const ImageConverter converter({3, 3, 1}, {{0}, {1}});
  Numbers out(9, -1.0f);
  converter.convert(kImage.data(), change, out.data());
  return out;
}

TEST(ImageConverter, ScalesPerChannel) {
  const ImageConverter converter({1, 2, 2}, {{10, 20}, {2, 5}});
  const std::vector<std::uint8_t> image{12, 25, 10, 10};
  Numbers out(4);
  converter.convert(image.data(), {}, out.data());
  EXPECT_EQ(out, (Numbers{1, 1, 0, -2}));
}

TEST(ImageConverter, MapsBytesToTheUnitInterval) {
  const ImageConverter converter({1, 1, 1}, unit_scale(1));
  float out = -1;
  for (const int pixel : {0, 1, 127, 255}) {
    const auto byte = static_cast<std::uint8_t>(pixel);
    converter.convert(&byte, {}, &out);
    EXPECT_EQ(out, static_cast<float>(pixel) / 255.0f);
  }
}

TEST(ImageConverter, ShiftsTheWindowAndFillsWithZeroPixels) {
  EXPECT_EQ(convert({.down = 1, .right = 0}),
            (Numbers{3, 4, 5, 6, 7, 8, 0, 0, 0}));
  EXPECT_EQ(convert({.down = 0, .right = -1}),
            (Numbers{0, 0, 1, 0, 3, 4, 0, 6, 7}));
  EXPECT_EQ(convert({.down = -4, .right = 4}), Numbers(9, 0.0f));
}

TEST(ImageConverter, MirrorsTheWindow) {
  EXPECT_EQ(convert({.is_mirrored = true}),
            (Numbers{2, 1, 0, 5, 4, 3, 8, 7, 6}));
  EXPECT_EQ(convert({.down = 0, .right = 1, .is_mirrored = true}),
            (Numbers{0, 2, 1, 0, 5, 4, 0, 8, 7}));
}

TEST(ImageConverter, FillsWithTheScaledZeroPixel) {
  const ImageConverter converter({1, 1, 2}, {{10, 20}, {2, 5}});
  const std::vector<std::uint8_t> image{1, 1};
  Numbers out(2);
  converter.convert(image.data(), {.down = 1}, out.data());
  EXPECT_EQ(out, (Numbers{-5, -4}));
}

TEST(DrawChange, IsAFunctionOfSeedEpochAndIndex) {
  const Augmentation both{.crop = true, .flip = true};
  std::set<std::int64_t> downs;
  int mirrored = 0;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const ImageChange a = draw_change(both, 1, 2, index);
    const ImageChange b = draw_change(both, 1, 2, index);
    EXPECT_EQ(a.down, b.down);
    EXPECT_EQ(a.right, b.right);
    EXPECT_EQ(a.is_mirrored, b.is_mirrored);
    EXPECT_LE(std::abs(a.down), kCropPadding);
    EXPECT_LE(std::abs(a.right), kCropPadding);
    downs.insert(a.down);
    mirrored += a.is_mirrored;
  }
  EXPECT_EQ(downs.size(), 9u);
  EXPECT_NEAR(mirrored, 500, 80);
}

TEST(DrawChange, DoesOnlyWhatIsAskedFor) {
  for (std::uint64_t index = 0; index < 100; ++index) {
    const ImageChange none = draw_change({}, 1, 2, index);
    EXPECT_FALSE(none.is_mirrored || none.down != 0 || none.right != 0);
    EXPECT_FALSE(draw_change({.crop = true}, 1, 2, index).is_mirrored);
  }
}

}  // namespace
}  // namespace weft
