// Depthwise convolutions between two clamps: one row of results may lie inside
// of the image, or miss a pixel at either end, or be too short for a group.
#include <cmath>
#include <limits>

#include "tests/support/against_reference.h"

namespace weft::depthwise_conv_test {
namespace {

constexpr const char* kOp = "clamped_conv2d";
constexpr const char* kKernel = "simd:depthwise";

OpSample sample(const Shape& x, const Shape& w, Integers strides,
                Integers padding) {
  return {{{{DType::kF32, x}, -2, 2},
           {{DType::kF32, w}, -1, 1},
           {{DType::kF32, {x[3]}}, -1, 1}},
          {{"strides", strides},
           {"padding", padding},
           {"groups", std::int64_t{x[3]}},
           {"image_low", -0.5},
           {"image_high", 1.0},
           {"low", -0.75},
           {"high", 1.5}}};
}

TEST(DepthwiseKernel, AgreesWithTheReferenceOnAllSamples) {
  expect_agreement(kOp, kKernel, 1e-5);
}

TEST(DepthwiseKernel, AgreesAtAllEdgesOfRows) {
  for (const Dim columns : {5, 7, 14, 15, 20, 29, 30}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const Integers& padding :
           {Integers{1, 1, 1, 1}, Integers{0, 1, 0, 1}, Integers{1, 0, 1, 0},
            Integers{0, 0, 0, 0}, Integers{2, 2, 2, 2}}) {
        EXPECT_TRUE(
            agrees_with_reference(kOp, kKernel,
                                  sample({2, 6, columns, 37}, {3, 3, 1, 37},
                                         {stride, stride}, padding),
                                  1e-5));
      }
    }
  }
}

TEST(DepthwiseKernel, AgreesOnOtherWindows) {
  EXPECT_TRUE(agrees_with_reference(
      kOp, kKernel, sample({1, 9, 9, 20}, {5, 5, 1, 20}, {1, 2}, {2, 2, 2, 2}),
      1e-5));
  EXPECT_TRUE(agrees_with_reference(
      kOp, kKernel, sample({1, 9, 9, 20}, {1, 3, 1, 20}, {1, 1}, {0, 0, 1, 1}),
      1e-5));
  OpSample dilated = sample({1, 12, 12, 8}, {3, 3, 1, 8}, {1, 1}, {2, 2, 2, 2});
  dilated.attributes.set("dilation", Integers{2, 2});
  EXPECT_TRUE(agrees_with_reference(kOp, kKernel, dilated, 1e-5));
}

// A pixel of NaN is NaN in each result that reads it, and an infinite one is
// clamped; where weights are infinite, the zeros of the padding meet them not.
TEST(DepthwiseKernel, HidesNoNan) {
  const Call call(kOp,
                  sample({1, 3, 14, 1}, {3, 3, 1, 1}, {1, 1}, {1, 1, 1, 1}));
  auto operands = call.random_operands();
  operands[0].data<float>()[14] = std::numeric_limits<float>::quiet_NaN();
  operands[0].data<float>()[14 + 9] = std::numeric_limits<float>::infinity();
  operands[1].data<float>()[0] = std::numeric_limits<float>::infinity();
  const auto kernel = candidate(kOp, kKernel).prepare(call.get());
  const Tensor y = call.run(*kernel, operands)[0];
  const Tensor expected = call.run_reference(operands)[0];
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const float value = y.data<float>()[i];
    const float wanted = expected.data<float>()[i];
    EXPECT_EQ(std::isnan(value), std::isnan(wanted)) << i;
    if (!std::isnan(wanted)) {
      EXPECT_NEAR(value, wanted, 1e-5) << i;
    }
  }
  EXPECT_TRUE(std::isnan(y.data<float>()[14]));
  EXPECT_FALSE(std::isnan(y.data<float>()[13]));
}

TEST(DepthwiseKernel, SaysWhyItDeclines) {
  const OpSample grouped = {
      {{{DType::kF32, {1, 4, 4, 4}}}, {{DType::kF32, {1, 1, 2, 4}}}},
      {{"groups", std::int64_t{2}},
       {"image_low", 0.0},
       {"image_high", 6.0},
       {"low", 0.0},
       {"high", 6.0}}};
  const Call call(kOp, grouped);
  EXPECT_EQ(candidate(kOp, kKernel).declines(call.get()),
            "takes a group for each channel, with one result");
}

}  // namespace
}  // namespace weft::depthwise_conv_test
