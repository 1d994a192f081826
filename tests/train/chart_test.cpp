#include "weft/train/picture/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

#include "weft/data/image.h"

namespace weft::chart_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Chart chart_with(std::vector<Point> points, AxisRange range) {
  const Stroke red{{255, 0, 0}, 2};
  return {.title = "<a & b>",
          .x_label = "epoch",
          .panels = {{"loss", range, {{std::move(points), red}}}},
          .legend = {{"a run of ü", red}}};
}

std::string svg_of(const Chart& chart) {
  return svg_picture(size_of(chart), [&](Canvas& c) { draw(chart, c); });
}

TEST(Chart, HasAxesCurveAndLegend) {
  const std::string svg =
      svg_of(chart_with({{1, 2}, {2, 1}, {4, 0.5}}, AxisRange::kFromZero));
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  // The first point is in the upper left corner, and no loss at the bottom.
  EXPECT_THAT(svg, HasSubstr("points=\"52.0,56.0 158.7,156.0 372.0,206.0\""));
  EXPECT_THAT(svg, HasSubstr("&lt;a &amp; b&gt;"));
  EXPECT_THAT(svg, HasSubstr(">a run of ü<"));
  for (const char* tick : {">0<", ">0.5<", ">2<", ">1<", ">4<", ">epoch<"}) {
    EXPECT_THAT(svg, HasSubstr(tick));
  }
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

// No points, one point, a flat line, negative and huge numbers.
TEST(Chart, DrawsWhatHasNoExtent) {
  const std::vector<std::vector<Point>> curves{{},
                                               {{1, 0.5}},
                                               {{1, 3}, {2, 3}},
                                               {{1, -1e30}, {2, 1e30}},
                                               {{0, 0}, {0, 0}},
                                               {{5, -7}, {6, -7}}};
  for (const auto range :
       {AxisRange::kFromZero, AxisRange::kShareToOne, AxisRange::kAsMeasured}) {
    for (const auto& points : curves) {
      const std::string svg = svg_of(chart_with(points, range));
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
      EXPECT_THAT(svg, Not(HasSubstr(">-0<")));
      EXPECT_LT(svg.size(), 20000u);
    }
  }
}

// The picture is the same drawing, in twice as many pixels.
TEST(Chart, PngHasTheColoursOfTheCurves) {
  const Chart chart =
      chart_with({{1, 0}, {2, 0}, {3, 0}}, AxisRange::kFromZero);
  const PictureSize size = size_of(chart);
  const std::string png = png_picture(size, [&](Canvas& c) { draw(chart, c); });
  const Image image = decode_image(test::bytes_of(png), "chart.png");
  EXPECT_EQ(image.width, 2 * size.width);
  EXPECT_EQ(image.height, 2 * size.height);
  ASSERT_EQ(image.channels, 3);
  const auto is_red = [&](std::int64_t x, std::int64_t y) {
    const auto* at = image.pixels.data() + 3 * (y * image.width + x);
    return at[0] == 255 && at[1] == 0 && at[2] == 0;
  };
  // The curve lies on the bottom of the panel.
  EXPECT_TRUE(is_red(2 * 200, 2 * 256));
  EXPECT_FALSE(is_red(2 * 200, 2 * 240));
  const auto red = std::ranges::count(image.pixels, 0);
  EXPECT_GT(red, 2 * 2 * 640);
}

}  // namespace
}  // namespace weft::chart_test
