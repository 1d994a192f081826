// Batch norm by hand, and its gradients with those of its moments.
#include <cmath>

#include "tests/support/exact.h"
#include "tests/support/single_runs.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/executable.h"

namespace weft::testing::batch_norm_test {
namespace {

Value f64(const Shape& shape, const std::vector<double>& numbers) {
  const Tensor tensor = Tensor::empty({DType::kF64, shape});
  std::copy(numbers.begin(), numbers.end(), tensor.data<double>());
  return tensor;
}

void expect_numbers(const Value& value, const std::vector<double>& expected,
                    double tolerance) {
  const Tensor& tensor = value.tensor();
  ASSERT_EQ(tensor.size(), static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(tensor.item(static_cast<std::int64_t>(i)), expected[i],
                tolerance)
        << i;
  }
}

// x = 1, 2, 3, 6 has the mean 3 and the variance 3.5.
TEST(BatchNorm, IsRightByHand) {
  Value x = f64({4, 1}, {1, 2, 3, 6});
  Value scale = f64({1}, {1});
  Value shift = f64({1}, {0});
  Tape tape;
  std::vector<Value> operands{x, scale, shift};
  for (Value& operand : operands) tape.watch(operand);
  const auto [y, mean, variance] =
      batch_norm(operands[0], operands[1], operands[2], 0);
  EXPECT_NEAR(mean.tensor().item(), 3, 1e-12);
  EXPECT_NEAR(variance.tensor().item(), 3.5, 1e-12);
  expect_numbers(y, {-1.06904, -0.53452, 0, 1.60357}, 1e-5);
  const Value dy = f64({4, 1}, {1, 0, 0, 0});
  const auto gradients = tape.gradient(sum(y * dy), operands);
  expect_numbers(gradients[0], {0.248171, -0.209991, -0.133631, 0.0954504},
                 1e-6);
  expect_numbers(gradients[1], {-1.06904}, 1e-5);
  expect_numbers(gradients[2], {1}, 1e-12);
}

// A shift of all x changes no y, nor does a factor: gradients are orthogonal to
// both.
TEST(BatchNorm, LetsNoShiftAndNoFactorThrough) {
  Value x = Value(test::pattern({5, 3, 2, 4}));
  Tape tape;
  tape.watch(x);
  const Value scale = f32({4}, {1, 2, -1, 0.5});
  const Value y = batch_norm(x, scale, f32({4}, {0, 1, 2, 3}), 0)[0];
  const Value loss = sum(y * Value(test::pattern({5, 3, 2, 4})) * sin(x));
  const Value dx = tape.gradient(loss, {&x, 1})[0] -
                   Value(test::pattern({5, 3, 2, 4})) * y * cos(x);
  const auto [mean, variance] = moments(x);
  const Value h = (x - mean) * rsqrt(variance);
  expect_numbers(sum(dx, {0, 1, 2}), {0, 0, 0, 0}, 1e-4);
  expect_numbers(sum(dx * h, {0, 1, 2}), {0, 0, 0, 0}, 1e-4);
}

// What reads the mean and the variance that batch norm returns has a gradient
// as what reads those of moments().
TEST(BatchNorm, PassesGradientsOfItsMomentsOn) {
  const auto gradient = [](bool is_one_op) {
    Value x = Value(test::pattern({6, 3}));
    Tape tape;
    tape.watch(x);
    const Value ones = f32({3}, {1, 1, 1});
    auto [y, mean, variance] = batch_norm(x, ones, ones, 1e-3);
    if (!is_one_op) {
      std::tie(mean, variance) = moments(x);
      y = (x - mean) * rsqrt(variance + 1e-3) + ones;
    }
    return tape
        .gradient(sum(exp(y)) + sum(sin(mean)) + sum(square(variance)),
                  {&x, 1})[0]
        .tensor();
  };
  EXPECT_TRUE(test::near(gradient(true), gradient(false), 1e-5));
}

TEST(BatchNorm, HasASecondGradient) {
  const auto second = [](bool is_one_op) {
    Value x = Value(test::pattern({6, 3}));
    Tape outer;
    outer.watch(x);
    Tape inner;
    inner.watch(x);
    const Value ones = f32({3}, {1, 1, 1});
    Value y = batch_norm(x, ones, ones, 1e-3)[0];
    if (!is_one_op) {
      const auto [mean, variance] = moments(x);
      y = (x - mean) * rsqrt(variance + 1e-3) + ones;
    }
    const Value dx = inner.gradient(sum(exp(y)), {&x, 1})[0];
    return outer.gradient(sum(square(dx)), {&x, 1})[0].tensor();
  };
  EXPECT_TRUE(test::near(second(true), second(false), 1e-4));
}

// Rewrites find one node for each, forward and backward.
TEST(BatchNorm, StaysOneNodeUntilAFunctionIsPlanned) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {8, 4, 4, 3}}, "x");
  const Value scale = builder.parameter({DType::kF32, {3}}, "scale");
  const Function function = builder.build([&] {
    const Value y = batch_norm(x, scale, scale, 1e-5)[0];
    return gradients(sum(square(y)), std::array{x, scale});
  });
  EXPECT_EQ(count_of(function, "batch_norm"), 1u);
  EXPECT_EQ(count_of(function, "batch_norm_gradient"), 1u);
  EXPECT_EQ(count_of(function, "moments"), 0u);
}

// Nothing has no mean, whichever way is taken.
TEST(Moments, OfNoRowsAreNoNumbers) {
  const auto expect_nan = [](const Value& value) {
    EXPECT_EQ(value.shape(), (Shape{3}));
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(std::isnan(value.tensor().item(i)));
    }
  };
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const TensorType type{dtype, {0, 2, 3}};
    const Value x = Tensor::zeros(type);
    const auto [mean_of, variance] = moments(x);
    expect_nan(mean_of);
    expect_nan(variance);
    expect_nan(mean(x, {0, 1}));
    FunctionBuilder builder("f");
    const Value parameter = builder.parameter(type, "x");
    Function function = builder.build([&] {
      const auto [own_mean, own_variance] = moments(parameter);
      return std::vector{own_mean, own_variance};
    });
    const std::vector<Tensor> given{Tensor::zeros(type)};
    for (const Tensor& each : Executable(std::move(function)).run(given)) {
      expect_nan(each);
    }
  }
  const auto [no_mean, no_variance] =
      moments(Value(Tensor::zeros({DType::kF32, {4, 0}})));
  EXPECT_EQ(no_mean.shape(), Shape{0});
  EXPECT_EQ(no_variance.shape(), Shape{0});
}

TEST(BatchNorm, OfASingleRowIsItsShift) {
  const auto [y, mean, variance] = batch_norm(
      f32({1, 2}, {5, -3}), f32({2}, {2, 2}), f32({2}, {7, 8}), 1e-5);
  EXPECT_TENSOR(y, f32({1, 2}, {7, 8}));
  EXPECT_TENSOR(variance, f32({2}, {0, 0}));
}

}  // namespace
}  // namespace weft::testing::batch_norm_test
