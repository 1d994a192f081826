#include "weft/data/augmentation.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "tests/support/errors.h"

#include "weft/tensor/shape.h"

namespace weft::augmentation_test {
namespace {

using Pixels = std::vector<std::uint8_t>;

// An image of 1, 2, 3, … after `call`.
Pixels changed(const std::string& call, std::uint64_t index,
               const Shape& shape = {3, 3, 1}, std::uint32_t epoch = 2) {
  Pixels pixels;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    pixels.push_back(static_cast<std::uint8_t>(i + 1));
  }
  Augmentations({call}).apply({.seed = 1, .epoch = epoch, .index = index},
                              {pixels.data(), shape[0], shape[1], shape[2]});
  return pixels;
}

std::set<Pixels> seen(const std::string& call, const Shape& shape = {3, 3, 1}) {
  std::set<Pixels> all;
  for (std::uint64_t i = 0; i < 2000; ++i) all.insert(changed(call, i, shape));
  return all;
}

std::int64_t blacks(const Pixels& pixels) {
  return std::ranges::count(pixels, 0);
}

TEST(Augmentation, IsAFunctionOfSeedEpochAndIndex) {
  for (const AugmentationDef& def : augmentation_registry().all()) {
    int moved = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const Pixels once = changed(def.name, i, {40, 30, 3});
      EXPECT_EQ(once, changed(def.name, i, {40, 30, 3})) << def.name;
      moved += once != changed(def.name, i, {40, 30, 3}, 3);
    }
    EXPECT_GT(moved, 5) << def.name;
  }
}

TEST(Augmentation, CropMovesTheImageAndFillsWithBlack) {
  const std::set<Pixels> all = seen("crop(padding=1)");
  EXPECT_EQ(all.size(), 9u);
  EXPECT_TRUE(all.contains({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(all.contains({4, 5, 6, 7, 8, 9, 0, 0, 0}));
  EXPECT_TRUE(all.contains({0, 1, 2, 0, 4, 5, 0, 7, 8}));
  EXPECT_TRUE(all.contains({0, 0, 0, 0, 1, 2, 0, 4, 5}));
  EXPECT_EQ(seen("crop(padding=0)").size(), 1u);
  // Channels stay together, and an image may move out of its window.
  EXPECT_TRUE(seen("crop(padding=1)", {1, 2, 2}).contains({3, 4, 0, 0}));
  EXPECT_TRUE(seen("crop(padding=9)").contains(Pixels(9, 0)));
}

TEST(Augmentation, FlipMirrorsAsOftenAsAsked) {
  const Shape shape{2, 3, 2};
  const Pixels mirrored{5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8};
  int count = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    count += changed("flip", i, shape) == mirrored;
    EXPECT_EQ(changed("flip(chance=1)", i, shape), mirrored);
  }
  EXPECT_NEAR(count, 500, 80);
  EXPECT_EQ(seen("flip", shape).size(), 2u);
  EXPECT_EQ(seen("flip(chance=0)", shape).size(), 1u);
}

TEST(Augmentation, CutoutBlackensASquareThatMayLeaveTheImage) {
  std::set<std::int64_t> counts;
  for (const Pixels& pixels : seen("cutout(size=3)", {9, 9, 1})) {
    counts.insert(blacks(pixels));
  }
  EXPECT_EQ(counts, (std::set<std::int64_t>{4, 6, 9}));
  EXPECT_EQ(seen("cutout(size=50)"), (std::set<Pixels>{Pixels(9, 0)}));
  EXPECT_EQ(blacks(changed("cutout(size=1)", 0, {3, 3, 2})), 2);
}

TEST(Augmentation, EraseTakesItsShareOfTheArea) {
  double area = 0;
  int erased = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto count = blacks(
        changed("erase(chance=0.25, least=0.1, most=0.2)", i, {12, 12, 1}));
    erased += count > 0;
    area += static_cast<double>(count) / 144;
    EXPECT_TRUE(count == 0 || (count > 5 && count < 40)) << count;
  }
  EXPECT_NEAR(erased, 250, 60);
  EXPECT_NEAR(area / erased, 0.15, 0.02);
  EXPECT_EQ(blacks(changed("erase(chance=1, most=1)", 3, {1, 1, 1})), 1);
}

TEST(Augmentation, LightRoundsAndEndsAtWhite) {
  Pixels pixels{0, 100, 200};
  const ImagePixels image{pixels.data(), 1, 3, 1};
  for (std::uint64_t i = 0; i < 200; ++i) {
    pixels = {0, 100, 200};
    Augmentations({"brightness(amount=0.5)"}).apply({1, 2, i}, image);
    EXPECT_EQ(pixels[0], 0);
    EXPECT_TRUE(pixels[1] >= 50 && pixels[1] <= 150);
    EXPECT_NEAR(pixels[2], std::min(2 * pixels[1], 255), 1);
    pixels = {0, 100, 200};
    Augmentations({"contrast(amount=0.5)"}).apply({1, 2, i}, image);
    EXPECT_EQ(pixels[1], 100);  // it is the mean
    EXPECT_NEAR(pixels[0] + pixels[2], 200, 55);
    EXPECT_LE(pixels[0], 50);
  }
  EXPECT_EQ(seen("brightness(amount=0)").size(), 1u);
  EXPECT_EQ(seen("contrast(amount=0)").size(), 1u);
}

TEST(Augmentation, OneDoesNotChangeAnothersNumbers) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    Pixels pixels = changed("flip", i);
    const Pixels alone = pixels;
    Augmentations({"brightness(amount=0)", "crop(padding=0)"})
        .apply({.seed = 1, .epoch = 2, .index = i}, {pixels.data(), 3, 3, 1});
    EXPECT_EQ(pixels, alone);
  }
}

TEST(Augmentation, IsWrittenAsACall) {
  EXPECT_EQ(
      Augmentations({"crop", "erase(0.3)"}).texts(),
      (std::vector<std::string>{"crop(padding=4)",
                                "erase(chance=0.3, least=0.02, most=0.33)"}));
  EXPECT_TRUE(Augmentations().is_empty());
  test::expect_error(ErrorCode::kInvalidArgument, {"did you mean 'flip'?"},
                     [] { Augmentations({"flop"}); });
  test::expect_error(ErrorCode::kInvalidArgument, {"twice"}, [] {
    Augmentations({"flip", "flip(chance=1)"});
  });
}

}  // namespace
}  // namespace weft::augmentation_test
