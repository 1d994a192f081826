#include "weft/data/image_converter.h"

#include <gtest/gtest.h>

namespace weft::image_converter_test {
namespace {

TEST(ImageConverter, ScalesPerChannel) {
  const ImageConverter converter({1, 2, 2}, {{10, 20}, {2, 5}});
  const std::vector<std::uint8_t> image{12, 25, 10, 10};
  std::vector<float> out(4);
  converter.convert(image.data(), out.data());
  EXPECT_EQ(out, (std::vector<float>{1, 1, 0, -2}));
}

TEST(ImageConverter, MapsBytesToTheUnitInterval) {
  const ImageConverter converter({1, 1, 1}, unit_scale(1));
  float out = -1;
  for (const int pixel : {0, 1, 127, 255}) {
    const auto byte = static_cast<std::uint8_t>(pixel);
    converter.convert(&byte, &out);
    EXPECT_EQ(out, static_cast<float>(pixel) / 255.0f);
  }
}

}  // namespace
}  // namespace weft::image_converter_test
