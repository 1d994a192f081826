#include "weft/batching/clipped_sums.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/tensor/symbol.h"

namespace weft::clipped_sums_test {
namespace {

using test::near;
using test::numbers;
using test::pattern;

constexpr Dim kInstances = 5;

// An argument of the function of one instance.
struct Argument {
  std::string name;
  TensorType type;
  bool is_batched = false;
  bool is_trained = false;
};

using LossOf = std::function<Value(std::span<const Value>)>;

// The loss of one instance, followed by its gradients for what is trained.
Function with_gradients(const std::vector<Argument>& arguments,
                        const LossOf& loss_of) {
  FunctionBuilder builder("example");
  std::vector<Value> values;
  std::vector<Value> trained;
  for (const Argument& argument : arguments) {
    values.push_back(builder.parameter(argument.type, argument.name));
    if (argument.is_trained) trained.push_back(values.back());
  }
  return builder.build([&] {
    const Value loss = loss_of(values);
    std::vector<Value> results = gradients(loss, trained);
    results.insert(results.begin(), loss);
    return results;
  });
}

Shape stacked_shape(const Shape& shape) {
  std::vector<Dim> dims{kInstances};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return Shape(dims);
}

// Numbers for an argument: of all instances where they differ in it.
Tensor drawn(const Argument& argument, std::uint64_t seed) {
  const Shape shape = argument.is_batched ? stacked_shape(argument.type.shape)
                                          : argument.type.shape;
  Tensor reals = pattern(shape, -1, 1, seed);
  if (argument.type.dtype != DType::kI64) return reals;
  Tensor indices = Tensor::zeros({DType::kI64, shape});
  const auto values = numbers(reals);
  for (std::size_t i = 0; i < values.size(); ++i) {
    indices.data<std::int64_t>()[i] =
        static_cast<std::int64_t>((values[i] + 1) * 3.99);
  }
  return indices;
}

Tensor instance_of(const Tensor& all, const Shape& shape, Dim instance) {
  Tensor one = Tensor::zeros({all.dtype(), shape});
  const std::size_t bytes = one.bytes();
  std::memcpy(one.raw(),
              static_cast<const std::byte*>(all.raw()) +
                  static_cast<std::size_t>(instance) * bytes,
              bytes);
  return one;
}

// What clipped_sums() makes, and what a loop over the instances does.
void expect_clipped_sums(const std::vector<Argument>& arguments,
                         const LossOf& loss_of, double norm,
                         Function* made_function = nullptr) {
  const Function function = with_gradients(arguments, loss_of);
  const std::size_t gradients = function.results().size() - 1;
  std::vector<Tensor> given;
  std::vector<bool> is_batched;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    given.push_back(drawn(arguments[i], i + 1));
    is_batched.push_back(arguments[i].is_batched);
  }
  const Tensor weights = Tensor::of<float>({kInstances}, {1, 1, 0, 1, 1});

  FunctionBuilder builder("all");
  std::vector<Value> values;
  for (const Argument& argument : arguments) {
    TensorType type = argument.type;
    if (argument.is_batched) type.shape = stacked_shape(type.shape);
    values.push_back(builder.parameter(type, argument.name));
  }
  const Value weight = builder.parameter({DType::kF32, {kInstances}}, "weight");
  Function all = builder.build([&] {
    const ClippedSums sums = clipped_sums(builder, function, values, is_batched,
                                          gradients, norm, weight);
    std::vector<Value> results = sums.sums;
    results.push_back(sums.norms);
    results.push_back(sums.others.at(0));
    return results;
  });
  if (made_function != nullptr) *made_function = all;
  std::vector<Tensor> all_given = given;
  all_given.push_back(weights);
  const std::vector<Tensor> made = Executable(std::move(all)).run(all_given);

  Executable alone{Function(function)};
  std::vector<std::vector<double>> sums(gradients);
  for (Dim instance = 0; instance < kInstances; ++instance) {
    std::vector<Tensor> own = given;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!is_batched[i]) continue;
      own[i] = instance_of(given[i], arguments[i].type.shape, instance);
    }
    const std::vector<Tensor> results = alone.run(own);
    double squares = 0;
    for (std::size_t k = 0; k < gradients; ++k) {
      for (const double each : numbers(results[k + 1])) squares += each * each;
    }
    const double length = std::sqrt(squares);
    EXPECT_NEAR(numbers(made[gradients])[static_cast<std::size_t>(instance)],
                length, 1e-4 * (1 + length));
    EXPECT_NEAR(
        numbers(made[gradients + 1])[static_cast<std::size_t>(instance)],
        results[0].item(), 1e-5 * (1 + std::abs(results[0].item())));
    const double scale = std::min(1.0, norm / length) *
                         numbers(weights)[static_cast<std::size_t>(instance)];
    for (std::size_t k = 0; k < gradients; ++k) {
      const auto own_gradient = numbers(results[k + 1]);
      sums[k].resize(own_gradient.size());
      for (std::size_t e = 0; e < own_gradient.size(); ++e) {
        sums[k][e] += scale * own_gradient[e];
      }
    }
  }
  for (std::size_t k = 0; k < gradients; ++k) {
    const auto found = numbers(made[k]);
    ASSERT_EQ(found.size(), sums[k].size());
    for (std::size_t e = 0; e < found.size(); ++e) {
      EXPECT_NEAR(found[e], sums[k][e], 2e-4 * (1 + std::abs(sums[k][e])))
          << "gradient " << k << ", element " << e;
    }
  }
}

bool has_type(const Function& function, const std::string& type) {
  for (std::size_t i = 0; i < function.value_count(); ++i) {
    if (to_string(function.type(static_cast<ValueId>(i))) == type) return true;
  }
  return false;
}

TEST(ClippedSums, OfDenseLayersKeepNoGradientOfAnInstance) {
  const std::vector<Argument> arguments{
      {"x", {DType::kF32, {1, 7}}, true, false},
      {"w", {DType::kF32, {7, 4}}, false, true},
      {"b", {DType::kF32, {4}}, false, true},
      {"v", {DType::kF32, {4, 3}}, false, true}};
  const LossOf loss = [](std::span<const Value> v) {
    const Value hidden = tanh(matmul(v[0], v[1]) + v[2]);
    const Value y = matmul(hidden, v[3]);
    return sum(y * y);
  };
  Function made;
  for (const double norm : {0.05, 1.0, 100.0}) {
    expect_clipped_sums(arguments, loss, norm, &made);
  }
  EXPECT_FALSE(has_type(made, "f32[5, 7, 4]"));
  EXPECT_FALSE(has_type(made, "f32[5, 4, 3]"));
}

// Few words and a wide layer: the factors' products with themselves are smaller
// than the gradient. Many words and a narrow one: the other way round.
TEST(ClippedSums, OfSequencesTakeTheCheaperWay) {
  for (const Dim words : {Dim{2}, Dim{30}}) {
    const std::vector<Argument> arguments{
        {"x", {DType::kF32, {words, 12}}, true, false},
        {"w", {DType::kF32, {12, 9}}, false, true}};
    Function made;
    expect_clipped_sums(
        arguments,
        [](std::span<const Value> v) {
          const Value y = matmul(v[0], v[1]);
          return sum(y * y);
        },
        0.7, &made);
    EXPECT_EQ(has_type(made, "f32[5, 12, 9]"), words == 30);
  }
}

// What the words add up to is nearly nothing, and what remains of the factors'
// products is rounding: no norm is NaN, and none is below the gradient's own.
TEST(ClippedSums, OfWordsThatCancelAreClippedEnough) {
  constexpr Dim kWords = 6;
  const std::vector<Argument> arguments{
      {"x", {DType::kF32, {1, 24}}, true, false},
      {"c", {DType::kF32, {1, 20}}, true, false},
      {"parts", {DType::kF32, {kWords, 1}}, false, false},
      {"w", {DType::kF32, {24, 20}}, false, true}};
  const Function function =
      with_gradients(arguments, [](std::span<const Value> v) {
        const Value words = broadcast_to(v[0], {kWords, 24});
        return sum(matmul(words, v[3]) * (v[2] * v[1]));
      });
  std::vector<Tensor> given{
      drawn(arguments[0], 1), drawn(arguments[1], 2),
      Tensor::of<float>({kWords, 1},
                        {0.7F, -0.3F, 0.9F, -1.1F, 0.1F, -0.30001F}),
      drawn(arguments[3], 4), Tensor::of<float>({kInstances}, {1, 1, 1, 1, 1})};
  FunctionBuilder builder("all");
  std::vector<Value> values;
  for (const Tensor& tensor : given) {
    values.push_back(builder.parameter(tensor.type()));
  }
  Function all = builder.build([&] {
    const std::span<const Value> own(values.data(), arguments.size());
    const ClippedSums sums =
        clipped_sums(builder, function, own, {true, true, false, false}, 1, 0.1,
                     values.back());
    return std::vector<Value>{sums.sums[0], sums.norms};
  });
  const std::vector<Tensor> made = Executable(std::move(all)).run(given);
  for (const double each : numbers(made[0])) EXPECT_TRUE(std::isfinite(each));
  Executable alone{Function(function)};
  for (Dim instance = 0; instance < kInstances; ++instance) {
    const std::vector<Tensor> own{
        instance_of(given[0], arguments[0].type.shape, instance),
        instance_of(given[1], arguments[1].type.shape, instance), given[2],
        given[3]};
    double squares = 0;
    for (const double each : numbers(alone.run(own)[1])) {
      squares += each * each;
    }
    EXPECT_GE(numbers(made[1])[static_cast<std::size_t>(instance)],
              std::sqrt(squares));
  }
}

TEST(ClippedSums, OfConvolutions) {
  for (const std::int64_t groups : {1, 2}) {
    // A small image with a wide layer behind it, and the other way round.
    for (const Dim outputs : {Dim{4}, Dim{64}}) {
      const std::vector<Argument> arguments{
          {"x", {DType::kF32, {1, 7, 6, 4}}, true, false},
          {"w", {DType::kF32, {3, 2, 4 / groups, outputs}}, false, true}};
      expect_clipped_sums(
          arguments,
          [&](std::span<const Value> v) {
            const Value y = conv2d(
                v[0], v[1],
                {.strides = {2, 1}, .padding = {1, 0, 0, 2}, .groups = groups});
            return sum(y * y);
          },
          0.9);
    }
  }
}

TEST(ClippedSums, OfTablesAndOfParametersUsedTwice) {
  const std::vector<Argument> arguments{
      {"words", {DType::kI64, {6}}, true, false},
      {"table", {DType::kF32, {8, 5}}, false, true},
      {"w", {DType::kF32, {5, 5}}, false, true}};
  expect_clipped_sums(
      arguments,
      [](std::span<const Value> v) {
        const Value rows = gather(v[1], v[0]);
        const Value y = matmul(tanh(matmul(rows, v[2])), v[2]);
        return sum(y * y);
      },
      0.5);
}

// A parameter that an instance's loss does not reach has no gradient.
TEST(ClippedSums, OfWhatIsNotReached) {
  const std::vector<Argument> arguments{
      {"x", {DType::kF32, {1, 3}}, true, false},
      {"w", {DType::kF32, {3, 2}}, false, true},
      {"unused", {DType::kF32, {4}}, false, true}};
  expect_clipped_sums(
      arguments,
      [](std::span<const Value> v) { return sum(matmul(v[0], v[1])); }, 0.3);
}

}  // namespace
}  // namespace weft::clipped_sums_test
