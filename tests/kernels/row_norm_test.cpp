#include <cmath>
#include <limits>

#include "tests/support/against_reference.h"

#include "weft/kernels/simd/streaming.h"
#include "weft/ops/norm.h"

namespace weft::row_norm_test {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kBF16,
                             DType::kF16};

// (x, scale, shift) of layer_norm, of which rms_norm takes two.
OpSample norm_sample(const Shape& shape, DType dtype, double low = -1,
                     double high = 1) {
  const DType wide = dtype == DType::kF64 ? dtype : DType::kF32;
  const Shape channels{shape.back()};
  return {{{{dtype, shape}, low, high},
           {{wide, channels}, 0.5, 2},
           {{wide, channels}}},
          {}};
}

OpSample rms_sample(const Shape& shape, DType dtype) {
  OpSample sample = norm_sample(shape, dtype);
  sample.inputs.pop_back();
  return sample;
}

OpSample gradient_sample(const Shape& shape, DType dtype, double low = -1,
                         double high = 1) {
  OpSample sample = norm_sample(shape, dtype, low, high);
  sample.inputs[2] = {{dtype, shape}};
  // A row whose numbers nearly meet would make much of their rounding.
  sample.attributes = {{"epsilon", 0.1}};
  return sample;
}

void expect_all_agree(const Shape& shape, DType dtype) {
  // A last bit of f32 decides which of two neighbours in f16 is the nearer.
  const double tolerance = dtype == DType::kF16 ? 1e-3 : 4e-6;
  const auto agree = [&](const char* op, const OpSample& sample) {
    EXPECT_TRUE(agrees_with_reference(op, std::string("simd:") + op, sample,
                                      tolerance));
  };
  agree("layer_norm", norm_sample(shape, dtype));
  agree("layer_norm_gradient", gradient_sample(shape, dtype));
  agree("rms_norm", rms_sample(shape, dtype));
  agree("rms_norm_gradient", gradient_sample(shape, dtype));
}

// Widths around every boundary of the vector loops.
TEST(RowNormKernel, AgreesOnEveryWidth) {
  for (const Dim width : {2, 7, 8, 15, 16, 17, 31, 64, 65, 100, 768, 1031}) {
    for (const DType dtype : kFloats) expect_all_agree({5, width}, dtype);
  }
}

// A row of one number is its own mean.
TEST(RowNormKernel, NormalisesOneColumnToZero) {
  const Call call("layer_norm", norm_sample({40, 1}, DType::kF32));
  const auto operands = call.random_operands();
  const auto y = call.run(*choose_kernel(call.get()).kernel, operands);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(y[0].item(i), operands[2].item(0));
  const Call back("layer_norm_gradient", gradient_sample({40, 1}, DType::kF32));
  const auto kernel = choose_kernel(back.get());
  EXPECT_EQ(kernel.name, "simd:layer_norm_gradient");
  const auto dx = back.run(*kernel.kernel, back.random_operands());
  for (int i = 0; i < 40; ++i) EXPECT_NEAR(dx[0].item(i), 0, 1e-6);
}

// One row, one part of the sums, more parts than a part has rows.
TEST(RowNormKernel, AgreesOnEveryNumberOfRows) {
  for (const Dim rows : {1, 15, 16, 17, 33, 2049}) {
    for (const DType dtype : kFloats) expect_all_agree({rows, 9}, dtype);
  }
}

// The mean of the squares less the square of the mean would lose every digit.
TEST(RowNormKernel, SurvivesAMeanFarFromZero) {
  EXPECT_TRUE(agrees_with_reference(
      "layer_norm", "simd:layer_norm",
      norm_sample({9, 300}, DType::kF32, 999, 1001), 3e-4));
  EXPECT_TRUE(agrees_with_reference(
      "layer_norm_gradient", "simd:layer_norm_gradient",
      gradient_sample({9, 300}, DType::kF32, 999, 1001), 3e-4));
}

// The mean of a long row is right to a rounding: one sum would have lost as
// much as the row's numbers differ by.
TEST(RowNormKernel, SurvivesALongRowFarFromZero) {
  const Shape row{1, 1 << 19};
  constexpr double kLow = 999'900, kHigh = 1'000'100;
  OpSample rms = norm_sample(row, DType::kF32, kLow, kHigh);
  rms.inputs.pop_back();
  EXPECT_TRUE(agrees_with_reference("rms_norm", "simd:rms_norm", rms, 1e-6));
  EXPECT_TRUE(agrees_with_reference("layer_norm", "simd:layer_norm",
                                    norm_sample(row, DType::kF32, kLow, kHigh),
                                    2e-3));
  EXPECT_TRUE(agrees_with_reference(
      "layer_norm_gradient", "simd:layer_norm_gradient",
      gradient_sample(row, DType::kF32, kLow, kHigh), 2e-3));
}

// What outgrows the caches is stored past them, in tiles that cut rows.
TEST(RowNormKernel, AgreesWhereResultsAreStreamed) {
  const auto rows =
      static_cast<Dim>(std::min<std::uint64_t>(least_streamed_bytes(),
                                               std::uint64_t{96} << 20) /
                       (2 * 1001 * sizeof(float))) +
      1;
  EXPECT_TRUE(agrees_with_reference("layer_norm", "simd:layer_norm",
                                    norm_sample({rows, 1001}, DType::kF32),
                                    4e-6));
}

// A row of another example stays what it is beside NaN and infinity.
TEST(RowNormKernel, KeepsNanAndInfinityInTheirRows) {
  const auto infinity = std::numeric_limits<float>::infinity();
  for (const float loud : {std::nanf(""), infinity, -infinity}) {
    Tensor x = Tensor::empty({DType::kF32, {3, 21}});
    for (int i = 0; i < 63; ++i) x.data<float>()[i] = static_cast<float>(i % 5);
    x.data<float>()[21 + 20] = loud;
    Tensor ones = Tensor::empty({DType::kF32, {21}});
    std::fill_n(ones.data<float>(), 21, 1.f);
    const Tensor y =
        layer_norm(Value(x), Value(ones), Value(ones), 1e-5).tensor();
    for (int i = 0; i < 63; ++i) {
      EXPECT_EQ(std::isnan(y.data<float>()[i]), i / 21 == 1) << i;
    }
    // Finite numbers are nothing beside an infinite mean square.
    const Tensor r = rms_norm(Value(x), Value(ones), 1e-5).tensor();
    for (int i = 0; i < 63; ++i) {
      const bool is_nan = i == 41 || (i / 21 == 1 && std::isnan(loud));
      EXPECT_EQ(std::isnan(r.data<float>()[i]), is_nan) << i;
    }
  }
}

TEST(RowNormKernel, LeavesNothingToComputeToTheReference) {
  const Call call("layer_norm", norm_sample({0, 4}, DType::kF32));
  EXPECT_EQ(choose_kernel(call.get()).name, "reference");
  const Call back("layer_norm_gradient", gradient_sample({0, 4}, DType::kF32));
  const auto kernel = choose_kernel(back.get());
  const auto gradients = back.run(*kernel.kernel, back.random_operands());
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(gradients[1].item(i), 0);
}

}  // namespace
}  // namespace weft::row_norm_test
