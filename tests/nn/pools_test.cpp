// Pooling layers by hand.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/base/error.h"
#include "weft/nn/pool.h"

namespace weft::pools_test {
namespace {

using test::near;

Dim pooled_size(Dim size, std::int64_t window, nn::PoolLayerOptions options) {
  options.ceil = true;
  return nn::MaxPool2d(window, options)(test::pattern({1, size, size, 1}))
      .shape()[1];
}

// The sizes are PyTorch's: a last window begins within the image or the padding
// before it.
TEST(MaxPool2d, RoundsUpWhereItIsToldTo) {
  EXPECT_EQ(pooled_size(6, 3, {.stride = 2}), 3);
  EXPECT_EQ(pooled_size(7, 3, {.stride = 2}), 3);
  EXPECT_EQ(pooled_size(2, 3, {.stride = 2}), 1);
  EXPECT_EQ(pooled_size(5, 2, {.stride = 3}), 2);
  EXPECT_EQ(pooled_size(4, 2, {.stride = 3}), 2);
  EXPECT_EQ(pooled_size(5, 2, {.stride = 2, .padding = 1}), 3);
  nn::MaxPool2d layer(3, {.stride = 2, .ceil = true});
  const Tensor x = Tensor::of<float>({1, 4, 4, 1}, {1, 2, 3, 4,     //
                                                    5, 6, 7, 8,     //
                                                    9, 10, 11, 12,  //
                                                    -1, -2, -3, -4});
  EXPECT_TRUE(near(layer(x).tensor(),
                   Tensor::of<float>({1, 2, 2, 1}, {11, 12, 11, 12}), 0));
}

TEST(AvgPool2d, CountsPaddingWhereItIsToldTo) {
  const Tensor x = Tensor::of<float>({1, 2, 2, 1}, {9, 18, 27, 36});
  nn::AvgPool2d plain(3, {.stride = 1, .padding = 1});
  nn::AvgPool2d counting(3, {.stride = 1, .padding = 1}, true);
  EXPECT_TRUE(near(plain(x).tensor(),
                   Tensor::of<float>({1, 2, 2, 1}, {22.5, 22.5, 22.5, 22.5}),
                   1e-5));
  EXPECT_TRUE(near(counting(x).tensor(),
                   Tensor::of<float>({1, 2, 2, 1}, {10, 10, 10, 10}), 1e-5));
  EXPECT_THROW(nn::AvgPool2d(3, {.ceil = true}, true), Error);
}

TEST(AdaptiveAvgPool2d, SharesTheImageOut) {
  // Three means of 5 pixels are over 0 to 1, 1 to 3 and 3 to 4.
  const Tensor x = test::pattern({2, 5, 5, 3});
  const Tensor y = nn::AdaptiveAvgPool2d(3)(x).tensor();
  ASSERT_EQ(y.shape(), (Shape{2, 3, 3, 3}));
  const Dim begin[] = {0, 1, 3};
  const Dim end[] = {2, 4, 5};
  for (Dim i = 0; i < y.size(); ++i) {
    const Dim c = i % 3, column = i / 3 % 3, row = i / 9 % 3, n = i / 27;
    double sum = 0;
    for (Dim r = begin[row]; r < end[row]; ++r) {
      for (Dim k = begin[column]; k < end[column]; ++k) {
        sum += x.item(((n * 5 + r) * 5 + k) * 3 + c);
      }
    }
    const Dim count = (end[row] - begin[row]) * (end[column] - begin[column]);
    EXPECT_NEAR(y.item(i), sum / static_cast<double>(count), 1e-6);
  }
}

TEST(AdaptiveAvgPool2d, WantsAWindow) {
  test::expect_error(ErrorCode::kInvalidArgument, {"0 windows"},
                     [] { nn::AdaptiveAvgPool2d(0); });
}

TEST(AdaptiveAvgPool2d, RepeatsPixelsOfASmallImage) {
  const Tensor one = Tensor::of<float>({1, 1, 1, 1}, {3});
  EXPECT_TRUE(near(nn::AdaptiveAvgPool2d(2)(one).tensor(),
                   Tensor::of<float>({1, 2, 2, 1}, {3, 3, 3, 3}), 0));
}

}  // namespace
}  // namespace weft::pools_test
