// resize and nms against numbers worked out by hand.
#include "tests/support/exact.h"

#include "weft/graph/registry.h"

namespace weft::testing::images_test {
namespace {

Value row(std::initializer_list<float> pixels) {
  return f32({1, 1, static_cast<Dim>(pixels.size()), 1}, pixels);
}

TEST(Resize, BilinearTakesTheMiddlesOfPixels) {
  EXPECT_TENSOR(resize(row({0, 4}), 1, 4), row({0, 1, 3, 4}));
  EXPECT_TENSOR(resize(row({0, 4, 8, 12}), 1, 2), row({2, 10}));
}

TEST(Resize, BilinearMayKeepTheCorners) {
  const ResizeOptions corners{.align_corners = true};
  EXPECT_TENSOR(resize(row({0, 3}), 1, 4, corners), row({0, 1, 2, 3}));
  EXPECT_TENSOR(resize(row({0, 4, 9}), 1, 2, corners), row({0, 9}));
  EXPECT_TENSOR(resize(row({5, 7}), 1, 1, corners), row({5}));
}

TEST(Resize, NearestRepeatsAndDropsPixels) {
  const ResizeOptions nearest{.bilinear = false};
  EXPECT_TENSOR(resize(row({1, 2}), 1, 4, nearest), row({1, 1, 2, 2}));
  EXPECT_TENSOR(resize(row({1, 2, 3}), 1, 5, nearest), row({1, 1, 2, 3, 3}));
  EXPECT_TENSOR(resize(row({1, 2, 3, 4}), 1, 2, nearest), row({2, 4}));
  const ResizeOptions corners{.bilinear = false, .align_corners = true};
  EXPECT_TENSOR(resize(row({1, 2, 3, 4}), 1, 2, corners), row({1, 4}));
}

TEST(Resize, RowsAndColumnsAreApart) {
  const Value image = f32({1, 2, 2, 1}, {0, 4, 8, 12});
  EXPECT_TENSOR(resize(image, 4, 2),
                f32({1, 4, 2, 1}, {0, 4, 2, 6, 6, 10, 8, 12}));
}

TEST(Resize, RefusesWhatItDoesNotKnow) {
  const OpDef& op = op_registry().get("resize");
  EXPECT_NE(message_of([&] {
              const Value image = row({1, 2});
              call(op, {&image},
                   {{"size", Integers{1, 4}}, {"method", std::string("cubic")}},
                   {});
            }).find("no method called 'cubic'"),
            std::string::npos);
}

TEST(Nms, KeepsTheBestOfThoseThatOverlap) {
  // The second hides behind the first; the third touches it only.
  const Value boxes = f32({4, 4}, {0, 0, 2, 2, 0, 0, 2, 1.5f,  //
                                   2, 0, 4, 2, 9, 9, 8, 8});
  const Value scores = f32({4}, {0.9f, 0.8f, 0.95f, 0.1f});
  const auto [indices, count] = nms(boxes, scores, 0.5, 5);
  EXPECT_TENSOR(indices, i64({5}, {2, 0, 3, -1, -1}));
  EXPECT_TENSOR(count, i64({}, {3}));
}

TEST(Nms, TheThresholdIsTheShareOfBoth) {
  // They share 1 of 2, 2 and 3 in all.
  const Value boxes = f32({2, 4}, {0, 0, 2, 1, 1, 0, 3, 1});
  const Value scores = f32({2}, {1, 2});
  EXPECT_TENSOR(nms(boxes, scores, 0.3, 2).second, i64({}, {1}));
  EXPECT_TENSOR(nms(boxes, scores, 0.34, 2).second, i64({}, {2}));
}

TEST(Nms, StopsAtTheMostAndPutsTiesInOrder) {
  const Value boxes = f32({3, 4}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  const auto [indices, count] = nms(boxes, f32({3}, {1, 1, 1}), 0.5, 2);
  EXPECT_TENSOR(indices, i64({2}, {0, 1}));
  EXPECT_TENSOR(count, i64({}, {2}));
}

}  // namespace
}  // namespace weft::testing::images_test
