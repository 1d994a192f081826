#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/support/against_reference.h"

namespace weft::pool_test {
namespace {

TEST(PoolKernel, AgreesWithTheReferenceOnAllSamples) {
  expect_agreement("max_pool", "simd:max_pool", 0);
  expect_agreement("max_pool_scatter", "simd:max_pool_scatter", 1e-6);
  expect_agreement("max_pool_gather", "simd:max_pool_gather", 0);
  expect_agreement("avg_pool", "simd:avg_pool", 1e-6);
  expect_agreement("avg_pool_gradient", "simd:avg_pool_gradient", 1e-6);
}

TEST(PoolKernel, AgreesOnManyChannels) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const OpSample sample = {
        {{{dtype, {3, 8, 9, 130}}}},
        {{"window", Integers{2, 3}}, {"strides", Integers{2, 3}}}};
    EXPECT_TRUE(agrees_with_reference("max_pool", "simd:max_pool", sample, 0));
    EXPECT_TRUE(
        agrees_with_reference("avg_pool", "simd:avg_pool", sample, 1e-6));
  }
}

// A network for inference reads no positions; maxima are the same without them,
// also of NaN and infinities.
template <class T>
void expect_maxima_alone(DType dtype) {
  const std::vector<std::uint8_t> unread = {0, 1};
  for (const Dim channels : {3, 16, 90, 130}) {
    const Call call("max_pool", {{{{dtype, {2, 9, 8, channels}}}},
                                 {{"window", Integers{3, 3}},
                                  {"strides", Integers{2, 2}},
                                  {"padding", Integers{1, 1, 1, 1}}}});
    const std::vector<Tensor> operands = call.random_operands();
    auto* x = operands[0].data<T>();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < operands[0].size(); i += 7) {
      x[i] = T(std::array{-kInfinity, kInfinity,
                          std::nanf("")}[static_cast<std::size_t>(i / 7 % 3)]);
    }
    // One example has nothing else.
    std::fill_n(x, operands[0].size() / 2, T(-kInfinity));
    OpCall maxima = call.get();
    maxima.unread = unread;
    const auto kernel = candidate("max_pool", "simd:max_pool").prepare(maxima);
    const std::vector<Tensor> found = call.run(*kernel, operands);
    const std::vector<Tensor> expected = call.run_reference(operands);
    for (std::int64_t i = 0; i < expected[0].size(); ++i) {
      const double value = expected[0].item(i);
      EXPECT_TRUE(std::isnan(value) ? std::isnan(found[0].item(i))
                                    : found[0].item(i) == value)
          << "element " << i << " of " << channels << " channels";
    }
    EXPECT_EQ(found[1].item(0), 0x7f) << "a position was written";
  }
}

TEST(PoolKernel, FindsMaximaAlone) {
  expect_maxima_alone<float>(DType::kF32);
  expect_maxima_alone<bfloat16>(DType::kBF16);
}

// Windows that overlap, that tile, and that leave pixels out, with a channel
// count of four vectors, one, and a part.
TEST(PoolKernel, SumsWhatEachWindowHasForAPixel) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t stride : {1, 2, 3, 4}) {
      const Attributes window = {{"window", Integers{3, 3}},
                                 {"strides", Integers{stride, stride}},
                                 {"padding", Integers{1, 1, 1, 1}}};
      const Call pool("max_pool", {{{{dtype, {2, 11, 10, 90}}}}, window});
      const std::span<const TensorType> pooled = pool.get().outputs;
      Attributes shaped = window;
      shaped.set("shape", Shape{2, 11, 10, 90});
      const double tolerance = dtype == DType::kF32 ? 1e-6 : 1e-2;
      EXPECT_TRUE(agrees_with_reference("avg_pool_gradient",
                                        "simd:avg_pool_gradient",
                                        {{{pooled[0]}}, shaped}, tolerance));
      const InputSample position{pooled[1], 0, 8.99, false};
      EXPECT_TRUE(
          agrees_with_reference("max_pool_scatter", "simd:max_pool_scatter",
                                {{{pooled[0]}, position}, shaped}, tolerance));
    }
  }
}

TEST(PoolKernel, LeavesWindowsAbove256PixelsToTheReference) {
  const Call call("max_pool", {{{{DType::kF32, {1, 20, 20, 1}}}},
                               {{"window", Integers{17, 17}},
                                {"strides", Integers{1, 1}}}});
  EXPECT_EQ(choose_kernel(call.get()).name, "reference");
  EXPECT_EQ(call.get().outputs[1].dtype, DType::kI32);
}

}  // namespace
}  // namespace weft::pool_test
