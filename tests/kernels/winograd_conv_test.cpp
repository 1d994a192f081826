// Winograd's convolutions: tiles that hang over each edge, all channels, what
// joins the results, and values that are not finite.
#include <array>
#include <cmath>
#include <limits>

#include "tests/support/against_reference.h"

namespace weft::winograd_conv_test {
namespace {

constexpr const char* kKernel = "simd:winograd";
constexpr double kTolerance = 1e-5;

struct Window {
  Dim rows, columns;
};
constexpr std::array<Window, 6> kWindows = {
    {{3, 3}, {5, 5}, {1, 3}, {3, 1}, {1, 5}, {5, 1}}};

OpSample sample(const Shape& x, Dim columns, Integers padding,
                Window window = {3, 3}) {
  return {{{{DType::kF32, x}},
           {{DType::kF32, {window.rows, window.columns, x[3], columns}}}},
          {{"padding", padding}}};
}

bool has_results(const OpSample& of, Window window) {
  const Shape& x = of.inputs[0].type.shape;
  const Integers& padding = of.attributes.integers("padding");
  return x[1] + padding[0] + padding[1] >= window.rows &&
         x[2] + padding[2] + padding[3] >= window.columns;
}

TEST(WinogradKernel, AgreesAtAllEdges) {
  for (const Dim rows : {1, 2, 4, 5, 7}) {
    for (const Dim columns : {3, 4, 8, 9}) {
      for (const Integers& padding :
           {Integers{1, 1, 1, 1}, Integers{2, 1, 0, 1}, Integers{3, 4, 1, 3}}) {
        for (const Window& window : kWindows) {
          const OpSample each =
              sample({2, rows, columns, 16}, 16, padding, window);
          if (!has_results(each, window)) continue;
          EXPECT_TRUE(
              agrees_with_reference("conv2d", kKernel, each, kTolerance));
        }
      }
    }
  }
}

TEST(WinogradKernel, AgreesOnAllChannels) {
  for (const Dim channels : {8, 17, 40}) {
    for (const Dim columns : {8, 16, 31, 48, 64, 80, 131}) {
      const OpSample each = sample({1, 6, 11, channels}, columns, {1, 1, 1, 1});
      EXPECT_TRUE(agrees_with_reference("conv2d", kKernel, each, kTolerance));
    }
  }
}

// More tiles than a block has, and fewer than threads.
TEST(WinogradKernel, AgreesOnManyTilesAndFew) {
  for (const auto& x : {Shape{3, 40, 41, 16}, Shape{1, 4, 4, 256}}) {
    const OpSample each = sample(x, 144, {1, 1, 1, 1});
    EXPECT_TRUE(agrees_with_reference("conv2d", kKernel, each, kTolerance));
  }
}

TEST(WinogradKernel, AgreesWithBiasReluAndAnotherImage) {
  OpSample each = sample({2, 7, 9, 24}, 40, {1, 1, 1, 1});
  each.inputs.push_back({{DType::kF32, {40}}});
  each.attributes.set("activation", "relu");
  EXPECT_TRUE(agrees_with_reference("conv2d", kKernel, each, kTolerance));
  each.inputs.insert(each.inputs.begin(), {{DType::kF32, {2, 7, 9, 40}}});
  EXPECT_TRUE(agrees_with_reference("conv2d_onto", kKernel, each, kTolerance));
}

TEST(WinogradKernel, AgreesOnPartsOfAnImage) {
  for (const bool has_bias : {false, true}) {
    OpSample each{{{{DType::kF32, {2, 6, 5, 24}}},
                   {{DType::kF32, {2, 6, 5, 9}}},
                   {{DType::kF32, {3, 3, 33, 20}}}},
                  {{"padding", Integers{1, 1, 1, 1}},
                   {"parts", std::int64_t{2}},
                   {"activation", "relu"}}};
    if (has_bias) each.inputs.push_back({{DType::kF32, {20}}});
    EXPECT_TRUE(
        agrees_with_reference("conv2d_of_parts", kKernel, each, kTolerance));
  }
}

TEST(WinogradKernel, IsTheGradientOfAnImage) {
  for (const Integers& padding :
       {Integers{1, 1, 1, 1}, Integers{0, 2, 1, 0}, Integers{3, 2, 4, 3}}) {
    for (const Window& window : kWindows) {
      OpSample each = sample({2, 7, 9, 20}, 33, padding, window);
      const Shape y = Call("conv2d", each).get().outputs[0].shape;
      each.attributes.set("shape", each.inputs[0].type.shape);
      each.inputs[0].type.shape = y;
      EXPECT_TRUE(agrees_with_reference("conv2d_input_gradient", kKernel, each,
                                        kTolerance));
    }
  }
}

TEST(WinogradKernel, IsTheGradientOfWeights) {
  const auto agrees = [](OpSample each) {
    const Shape y = Call("conv2d", each).get().outputs[0].shape;
    each.attributes.set("shape", each.inputs[1].type.shape);
    each.inputs[1].type.shape = y;
    return agrees_with_reference("conv2d_weight_gradient", kKernel, each,
                                 kTolerance);
  };
  for (const Integers& padding :
       {Integers{1, 1, 1, 1}, Integers{0, 2, 1, 0}, Integers{3, 2, 4, 3}}) {
    for (const Window& window : kWindows) {
      EXPECT_TRUE(agrees(sample({2, 7, 9, 20}, 33, padding, window)));
    }
  }
  // Several groups of tiles, chunks of columns and blocks in a group.
  EXPECT_TRUE(agrees(sample({40, 9, 10, 17}, 80, {1, 1, 1, 1})));
}

// The root of the mean squared error, over that of the library's sums in f32.
double error_over_that_of_sums(Window window) {
  const Call call("conv2d", sample({2, 24, 24, 64}, 32, {2, 2, 2, 2}, window));
  const auto operands = call.random_operands();
  const Tensor expected = call.run_reference(operands)[0];
  const auto error_of = [&](const char* name) {
    const auto kernel = candidate("conv2d", name).prepare(call.get());
    const Tensor y = call.run(*kernel, operands)[0];
    double sum = 0;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      sum += std::pow(
          double{y.data<float>()[i]} - double{expected.data<float>()[i]}, 2);
    }
    return std::sqrt(sum);
  };
  return error_of(kKernel) / error_of("onednn:convolution");
}

TEST(WinogradKernel, RoundsAFewTimesAsCoarselyAsSums) {
  for (const Window& window : kWindows) {
    const double over = error_over_that_of_sums(window);
    EXPECT_LT(over, 4) << window.rows << " x " << window.columns;
    RecordProperty(fmt::format("over_{}x{}", window.rows, window.columns),
                   fmt::format("{:.2f}", over));
  }
}

// Each result says of itself what it would by sums, whatever lies beside it
// under a tile; infinite weights do not meet the padding.
TEST(WinogradKernel, HidesAndSpreadsNothing) {
  for (const bool is_weight : {false, true}) {
    const Call call("conv2d", sample({1, 9, 9, 16}, 24, {1, 1, 1, 1}));
    auto operands = call.random_operands();
    float* x = operands[0].data<float>();
    x[(9 * 2 + 3) * 16] = std::numeric_limits<float>::quiet_NaN();
    x[(9 * 6 + 8) * 16 + 15] = -std::numeric_limits<float>::infinity();
    if (is_weight) {
      operands[1].data<float>()[7] = std::numeric_limits<float>::infinity();
    }
    const auto kernel = candidate("conv2d", kKernel).prepare(call.get());
    const Tensor y = call.run(*kernel, operands)[0];
    const Tensor expected = call.run_reference(operands)[0];
    int finite = 0;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const float value = y.data<float>()[i];
      const float wanted = expected.data<float>()[i];
      EXPECT_EQ(std::isnan(value), std::isnan(wanted)) << i;
      if (std::isinf(wanted)) {
        EXPECT_EQ(value, wanted) << i;
      }
      if (std::isfinite(wanted)) {
        ++finite;
        EXPECT_NEAR(value, wanted, 1e-4) << i;
      }
    }
    EXPECT_GT(finite, y.size() / 2);
  }
}

TEST(WinogradKernel, GradientsOfWeightsHideAndSpreadNothing) {
  OpSample each = sample({1, 9, 9, 16}, 24, {1, 1, 1, 1});
  each.attributes.set("shape", each.inputs[1].type.shape);
  each.inputs[1].type.shape = {1, 9, 9, 24};
  const Call call("conv2d_weight_gradient", each);
  auto operands = call.random_operands();
  // The pixel in the corner is met by four taps, the gradient there by four.
  operands[0].data<float>()[3] = std::numeric_limits<float>::infinity();
  operands[1].data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  const auto kernel =
      candidate("conv2d_weight_gradient", kKernel).prepare(call.get());
  const Tensor dw = call.run(*kernel, operands)[0];
  const Tensor expected = call.run_reference(operands)[0];
  for (std::int64_t i = 0; i < dw.size(); ++i) {
    const float value = dw.data<float>()[i];
    const float wanted = expected.data<float>()[i];
    EXPECT_EQ(std::isnan(value), std::isnan(wanted)) << i;
    if (std::isinf(wanted)) {
      EXPECT_EQ(value, wanted) << i;
    }
    if (std::isfinite(wanted)) {
      EXPECT_NEAR(value, wanted, 1e-4) << i;
    }
  }
}

TEST(WinogradKernel, SaysWhyItDeclines) {
  const auto reason = [](const OpSample& of) {
    return candidate("conv2d", kKernel)
        .declines(Call("conv2d", of).get())
        .value_or("");
  };
  OpSample each = sample({1, 9, 9, 16}, 16, {0, 0, 0, 0});
  EXPECT_EQ(reason(each), "");
  each.attributes.set("strides", Integers{2, 1});
  EXPECT_EQ(reason(each),
            "takes windows of pixels beside each other, at each pixel");
  EXPECT_EQ(reason(sample({1, 9, 9, 4}, 16, {0, 0, 0, 0})),
            "pays from 8 channels on");
  each = sample({1, 9, 9, 16}, 16, {0, 0, 0, 0});
  each.inputs[1].type.shape = {3, 5, 16, 16};
  EXPECT_EQ(reason(each), "is for windows of 3 or 5 along one axis or both");
}

}  // namespace
}  // namespace weft::winograd_conv_test
