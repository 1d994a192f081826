#include "weft/ops/conv.h"

#include "tests/support/against_reference.h"

#include "weft/base/cpu.h"

namespace weft::conv_test {
namespace {

constexpr const char* kKernel = "onednn:convolution";

OpSample big(Shape x, Shape w, Integers strides, Integers padding,
             std::int64_t groups, DType dtype = DType::kF32) {
  return {{{{dtype, x}}, {{dtype, w}}},
          {{"strides", strides}, {"padding", padding}, {"groups", groups}}};
}

TEST(ConvKernel, AgreesWithTheReferenceOnAllSamples) {
  expect_agreement("conv2d", kKernel, 1e-5);
  expect_agreement("conv2d_input_gradient", kKernel, 1e-5);
  expect_agreement("conv2d_weight_gradient", kKernel, 1e-5);
  expect_agreement("conv2d_onto", kKernel, 1e-5);
}

TEST(ConvKernel, AgreesOnChannelsThatFillVectors) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const std::vector<OpSample> samples = {
        big({3, 9, 10, 16}, {3, 3, 16, 32}, {2, 2}, {1, 1, 1, 1}, 1, dtype),
        big({2, 8, 8, 32}, {3, 3, 1, 32}, {1, 1}, {1, 1, 1, 1}, 32, dtype),
        big({2, 8, 8, 1}, {3, 3, 1, 32}, {1, 1}, {1, 1, 1, 1}, 1, dtype),
        big({2, 8, 8, 16}, {1, 1, 16, 48}, {2, 2}, {0, 0, 0, 0}, 1, dtype)};
    for (const OpSample& sample : samples) {
      agrees_with_reference("conv2d", kKernel, sample, 1e-5);
    }
  }
}

// Groups, strides, dilation, padding; the last has more windows than one block
// holds, and the one before it several blocks within an image.
void expect_window_products(const char* kernel, DType dtype, double tolerance) {
  std::vector<OpSample> samples = {
      big({3, 9, 10, 16}, {3, 3, 16, 32}, {2, 2}, {1, 1, 1, 1}, 1, dtype),
      big({2, 8, 8, 6}, {3, 3, 2, 9}, {1, 2}, {0, 2, 1, 1}, 3, dtype),
      big({2, 7, 8, 4}, {1, 1, 4, 3}, {1, 1}, {0, 0, 0, 0}, 1, dtype),
      big({1, 20, 20, 96}, {5, 5, 96, 2}, {1, 1}, {2, 2, 2, 2}, 1, dtype),
      big({3, 14, 13, 64}, {3, 3, 64, 2}, {1, 1}, {1, 1, 1, 1}, 1, dtype)};
  samples[1].attributes.set("dilation", Integers{2, 1});
  for (const OpSample& sample : samples) {
    EXPECT_TRUE(agrees_with_reference("conv2d", kernel, sample, tolerance));
    const Shape y = Call("conv2d", sample).get().outputs[0].shape;
    OpSample input{{{{dtype, y}}, sample.inputs[1]}, sample.attributes};
    input.attributes.set("shape", sample.inputs[0].type.shape);
    EXPECT_TRUE(agrees_with_reference("conv2d_input_gradient", kernel, input,
                                      tolerance));
    OpSample weight{{sample.inputs[0], {{dtype, y}}}, sample.attributes};
    weight.attributes.set("shape", sample.inputs[1].type.shape);
    EXPECT_TRUE(agrees_with_reference("conv2d_weight_gradient", kernel, weight,
                                      tolerance));
  }
}

TEST(ConvKernel, F64IsBlas) {
  expect_window_products("openblas:im2col", DType::kF64, 1e-13);
}

TEST(ConvKernel, TilesAgree) {
  expect_window_products("simd:im2col", DType::kF32, 1e-4);
  expect_window_products("simd:im2col", DType::kF64, 1e-13);
}

// A bf16 image and f32 weights, whose gradient comes out in f32.
TEST(ConvKernel, GradientOfMixedWeightsIsF32) {
  const OpSample sample = {
      {{{DType::kBF16, {4, 8, 8, 16}}}, {{DType::kBF16, {4, 8, 8, 32}}}},
      {{"padding", Integers{1, 1, 1, 1}},
       {"shape", Shape{3, 3, 16, 32}},
       {"in_f32", true}}};
  const Call call("conv2d_weight_gradient", sample);
  EXPECT_EQ(call.get().outputs[0].dtype, DType::kF32);
  agrees_with_reference("conv2d_weight_gradient", kKernel, sample, 1e-5);
}

TEST(ConvKernel, WindowsOfOnePixelAreProducts) {
  const char* kernel = "onednn:pixel_product";
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    OpSample sample =
        big({2, 7, 8, 24}, {1, 1, 24, 40}, {1, 1}, {0, 0, 0, 0}, 1, dtype);
    if (dtype == DType::kBF16 &&
        instruction_set() < InstructionSet::kAvx512Bf16) {
      EXPECT_TRUE(
          candidate("conv2d", kernel).declines(Call("conv2d", sample).get()));
      continue;
    }
    EXPECT_TRUE(agrees_with_reference("conv2d", kernel, sample, 1e-5));
    sample.inputs.push_back({{dtype, {40}}});
    sample.attributes.set("activation", "relu");
    EXPECT_TRUE(agrees_with_reference("conv2d", kernel, sample, 1e-5));
  }
  // As many pixels come out as go in, but others.
  for (const auto& [stride, padding] : {std::pair{2, 2}, {1, 1}, {2, 0}}) {
    const OpSample sample = big({1, 4, 4, 8}, {1, 1, 8, 8}, {stride, stride},
                                {padding, padding, padding, padding}, 1);
    EXPECT_EQ(
        candidate("conv2d", kernel).declines(Call("conv2d", sample).get()),
        "makes a pixel of each pixel");
  }
}

TEST(ConvKernel, SaysWhyItDeclines) {
  const OpSample sample =
      big({1, 4, 4, 2}, {3, 3, 2, 2}, {1, 1}, {0, 0, 0, 0}, 1, DType::kF64);
  const Call call("conv2d", sample);
  EXPECT_EQ(candidate("conv2d", kKernel).declines(call.get()),
            "computes in f32 and bf16, not in f64");
}

}  // namespace
}  // namespace weft::conv_test
