#include "weft/ops/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/against_reference.h"

namespace weft::loss_test {
namespace {

OpSample rows(Shape shape, DType dtype, double low, double high) {
  return {{{{dtype, shape}, low, high}}, {}};
}

TEST(LossKernel, AgreesWithTheReferenceOnAllSamples) {
  expect_agreement("softmax", "simd:softmax", 1e-6);
  expect_agreement("log_softmax", "simd:log_softmax", 1e-6);
  expect_agreement("cross_entropy", "simd:cross_entropy", 1e-6);
  expect_agreement("cross_entropy_gradient", "simd:cross_entropy_gradient",
                   1e-6);
}

// Row lengths around every boundary of the vector loops; as many rows as part
// of a block of short ones, and as some blocks.
TEST(LossKernel, AgreesOnEveryRowLength) {
  for (const Dim classes : {1, 2, 10, 15, 16, 17, 63, 64, 65, 80, 1000, 4097}) {
    for (const Dim count : {5, 64, 150}) {
      if (count * classes > 20'000) continue;
      for (const DType dtype : {DType::kF32, DType::kBF16}) {
        OpSample sample = rows({count, classes}, dtype, -20, 20);
        EXPECT_TRUE(
            agrees_with_reference("softmax", "simd:softmax", sample, 1e-6));
        EXPECT_TRUE(agrees_with_reference("log_softmax", "simd:log_softmax",
                                          sample, 1e-6));
        sample.inputs.push_back({{DType::kI64, {count}},
                                 0,
                                 static_cast<double>(classes - 1),
                                 false});
        EXPECT_TRUE(agrees_with_reference("cross_entropy", "simd:cross_entropy",
                                          sample, 1e-6));
      }
    }
  }
}

// Column counts around the boundaries of vectors and of blocks of columns.
TEST(LossKernel, AgreesAlongAnyAxis) {
  for (const Dim columns : {1, 2, 15, 16, 17, 63, 64, 65, 200}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      OpSample sample = rows({3, 21, columns}, dtype, -20, 20);
      sample.attributes = {{"axis", std::int64_t{1}}};
      EXPECT_TRUE(
          agrees_with_reference("softmax", "simd:softmax", sample, 1e-6));
      EXPECT_TRUE(agrees_with_reference("log_softmax", "simd:log_softmax",
                                        sample, 1e-6));
    }
  }
}

OpSample gradient_along(std::int64_t axis, Shape shape, DType dtype) {
  return {{{{dtype, shape}, -2, 0}, {{dtype, shape}}}, {{"axis", axis}}};
}

// Row lengths and column counts around the boundaries of vectors and blocks.
TEST(SoftmaxGradientKernel, AgreesAlongAnyAxisInEveryFloat) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    // A last bit of f32 decides which of two neighbours in f16 is the nearer.
    const double tolerance = dtype == DType::kF16 ? 1e-3 : 5e-6;
    for (const char* op : {"softmax_gradient", "log_softmax_gradient"}) {
      const std::string name = std::string("simd:") + op;
      for (const Dim size : {1, 2, 7, 15, 16, 17, 64, 65, 200, 1000}) {
        EXPECT_TRUE(agrees_with_reference(
            op, name, gradient_along(-1, {5, size}, dtype), tolerance));
        EXPECT_TRUE(agrees_with_reference(
            op, name, gradient_along(1, {3, 21, size}, dtype), tolerance));
        EXPECT_TRUE(agrees_with_reference(
            op, name, gradient_along(0, {size, 1}, dtype), tolerance));
      }
    }
  }
}

// Far below the largest, exponentials end: by less than the least normal
// number.
TEST(LossKernel, EndsFarBelowTheLargest) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>(
      {1, 20},
      {0,  -87, -87.4f, -88, -104, -1e4f, -3e38f, -infinity, -1,  -2,
       -3, -4,  -5,     -6,  -7,   -8,    -9,     -10,       -11, -infinity});
  const Tensor y = softmax(Value(x)).tensor();
  double sum = 0;
  for (int i = 0; i < 20; ++i) {
    sum += std::exp(static_cast<double>(x.data<float>()[i]));
  }
  for (int i = 0; i < 20; ++i) {
    const double p = std::exp(static_cast<double>(x.data<float>()[i])) / sum;
    EXPECT_NEAR(y.data<float>()[i], p, 4e-7 * p + 1.2e-38) << i;
  }
}

TEST(LossKernel, GivesNanForARowOfMinusInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Dim classes : {1, 3, 16, 40}) {
    const Tensor x = Tensor::empty({DType::kF32, {classes}});
    std::fill_n(x.data<float>(), classes, -infinity);
    const Tensor y = softmax(Value(x)).tensor();
    EXPECT_TRUE(std::isnan(y.data<float>()[0])) << classes;
  }
}

TEST(LossKernel, DoesNotOverflow) {
  const OpSample sample = {
      {{{DType::kF32, {2, 40}}, 900, 1000}, {{DType::kI64, {2}}, 0, 39}}, {}};
  EXPECT_TRUE(agrees_with_reference("cross_entropy", "simd:cross_entropy",
                                    sample, 1e-6));
}

// The small elements add less to the sum than the last bit of its logarithm.
TEST(LossKernel, KeepsSmallElementsBesideALargeOne) {
  const Tensor x = Tensor::of<float>({1, 2}, {28.0f, 14.0f});
  const Tensor y = softmax(Value(x)).tensor();
  EXPECT_NEAR(y.data<float>()[0], 1 / (1 + std::exp(-14.0)), 1e-7);
}

// Where logits are large, a small loss has more digits than their logarithm of
// the sum has behind the point.
TEST(LossKernel, KeepsTheDigitsOfASmallLoss) {
  for (const Dim classes : {3, 40}) {
    const Tensor x = Tensor::empty({DType::kF32, {2, classes}});
    std::fill_n(x.data<float>(), 2 * classes, -1e6f);
    for (const Dim row : {0, 1}) {
      x.data<float>()[row * classes] = 1e5f;
      x.data<float>()[row * classes + 1] = 1e5f - 10;
    }
    const double expected = std::log1p(std::exp(-10.0));
    const Tensor loss =
        cross_entropy(Value(x), Value(Tensor::of<std::int64_t>({2}, {0, 1})))
            .tensor();
    EXPECT_NEAR(loss.data<float>()[0], expected, 1e-7);
    EXPECT_NEAR(loss.data<float>()[1], expected + 10, 1e-6);
    const Tensor y = log_softmax(Value(x)).tensor();
    EXPECT_NEAR(y.data<float>()[0], -expected, 1e-7);
    EXPECT_NEAR(y.data<float>()[classes + 1], -expected - 10, 1e-6);
  }
}

TEST(LossKernel, LeavesF64ToTheReference) {
  const Call call("softmax", rows({2, 3}, DType::kF64, -1, 1));
  const KernelChoice choice = choose_kernel(call.get());
  EXPECT_EQ(choice.name, "reference");
  EXPECT_EQ(choice.declined.at(0),
            "simd:softmax: computes in f32 and bf16, not in f64");
}

}  // namespace
}  // namespace weft::loss_test
