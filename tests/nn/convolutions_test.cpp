#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/nn/nn.h"
#include "weft/tensor/symbol.h"

namespace weft::convolutions_test {
namespace {

using test::near;

void put(nn::Module& module, const std::string& name, const Tensor& value) {
  nn::find_parameter(module, name)->variable.set_tensor(value);
}

TEST(Conv1d, SamePaddingKeepsTheLength) {
  nn::Conv1d layer(1, 1, 3);
  put(layer, "weight", Tensor::of<float>({3, 1, 1}, {1, 2, 3}));
  put(layer, "bias", Tensor::of<float>({1}, {0.5f}));
  const Value y = layer(Tensor::of<float>({1, 4, 1}, {1, 2, 3, 4}));
  EXPECT_TRUE(near(
      y.tensor(), Tensor::of<float>({1, 4, 1}, {8.5, 14.5, 20.5, 11.5}), 1e-6));
}

TEST(Conv1d, StridesDilatesAndSeparatesGroups) {
  nn::Conv1d layer(
      2, 2, 2,
      {.stride = 2, .padding = 0, .dilation = 2, .groups = 2, .bias = false});
  put(layer, "weight", Tensor::of<float>({2, 1, 2}, {1, 10, 2, 20}));
  const Tensor x = Tensor::of<float>({1, 5, 2}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  // x[0] + 2 x[2], x[2] + 2 x[4]; ten times that for the second channel.
  EXPECT_TRUE(near(layer(x).tensor(),
                   Tensor::of<float>({1, 2, 2}, {7, 70, 13, 130}), 1e-5));
}

TEST(Conv2d, TakesKernelsThatAreNoSquares) {
  nn::Conv2d layer(1, 1, nn::KernelSize{1, 3}, {.bias = false});
  put(layer, "weight", Tensor::of<float>({1, 3, 1, 1}, {1, 2, 3}));
  const Value y = layer(Tensor::of<float>({1, 2, 3, 1}, {1, 2, 3, 10, 20, 30}));
  EXPECT_TRUE(near(y.tensor(),
                   Tensor::of<float>({1, 2, 3, 1}, {8, 14, 8, 80, 140, 80}),
                   1e-5));
}

TEST(Conv2d, StartsAsItIsTold) {
  nn::Conv2d layer(2, 3, 3, {.init = nn::Init::constant(0.5)});
  layer.initialize(1);
  const auto start = [&](const char* name) {
    return nn::find_parameter(layer, name)->variable.tensor();
  };
  EXPECT_EQ(start("weight").item(7), 0.5);
  EXPECT_EQ(start("bias").item(0), 0);
}

TEST(ConvTranspose2d, PutsTheKernelAtEachPixel) {
  nn::ConvTranspose2d layer(1, 1, 2, {.stride = 2, .padding = 0});
  put(layer, "weight", Tensor::of<float>({2, 2, 1, 1}, {1, 2, 3, 4}));
  put(layer, "bias", Tensor::of<float>({1}, {1}));
  const Value y = layer(Tensor::of<float>({1, 1, 2, 1}, {1, 10}));
  EXPECT_TRUE(near(
      y.tensor(), Tensor::of<float>({1, 2, 4, 1}, {2, 3, 11, 21, 4, 5, 31, 41}),
      1e-5));
}

TEST(ConvTranspose2d, SaysWhichSizeItMakes) {
  const Tensor x = test::pattern({2, 4, 5, 6});
  const auto shape = [&](nn::ConvTranspose2d layer) {
    layer.initialize(1);
    return layer(x).shape();
  };
  using Layer = nn::ConvTranspose2d;
  EXPECT_EQ(shape(Layer(6, 4, 3, {.stride = 2})), (Shape{2, 8, 10, 4}));
  EXPECT_EQ(shape(Layer(6, 4, 3, {.stride = 2, .padding = 1})),
            (Shape{2, 7, 9, 4}));
  EXPECT_EQ(shape(Layer(6, 4, 3, {.stride = 2, .padding = 1}, 1)),
            (Shape{2, 8, 10, 4}));
  EXPECT_EQ(shape(Layer(6, 4, 3, {.padding = 0, .groups = 2})),
            (Shape{2, 6, 7, 4}));
}

TEST(ConvTranspose2d, RefusesMorePixelsThanTheStride) {
  EXPECT_THROW(nn::ConvTranspose2d(1, 1, 3, {.stride = 2, .padding = 1}, 2),
               Error);
  EXPECT_THROW(nn::ConvTranspose2d(1, 1, 3, {.stride = 2}, 1), Error);
}

}  // namespace
}  // namespace weft::convolutions_test
