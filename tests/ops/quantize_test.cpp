// Quantization against numbers worked out by hand.
#include <cmath>
#include <fmt/ranges.h>

#include "tests/support/exact.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/builder.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/executable.h"

namespace weft::testing::quantize_test {
namespace {

Value i8(const Shape& shape, std::initializer_list<std::int8_t> values) {
  return Tensor::of<std::int8_t>(shape, values);
}
Value u8(const Shape& shape, std::initializer_list<std::uint8_t> values) {
  return Tensor::of<std::uint8_t>(shape, values);
}
Value i32(const Shape& shape, std::initializer_list<std::int32_t> values) {
  return Tensor::of<std::int32_t>(shape, values);
}

constexpr float kMost = std::numeric_limits<float>::max();

TEST(Quantize, RoundsHalvesToEvenAndSaturates) {
  const Value x = f32({11}, {0.25f, 0.75f, -0.25f, -0.75f, 63.5f, 64, -64.25f,
                             -70, HUGE_VALF, -kMost, NAN});
  EXPECT_TENSOR(quantize(x, f32({}, {0.5f})),
                i8({11}, {0, 2, 0, -2, 127, 127, -128, -128, 127, -128, 0}));
  EXPECT_TENSOR(quantize(x, f32({}, {0.5f}), {.dtype = DType::kU8}),
                u8({11}, {0, 2, 0, 0, 127, 128, 0, 0, 255, 0, 0}));
}

TEST(Quantize, AddsTheZeroPointAfterRounding) {
  const Value x = f32({4}, {-1, 0.5f, 1.5f, 1000});
  EXPECT_TENSOR(quantize(x, f32({1}, {1}), u8({1}, {3}), {.dtype = DType::kU8}),
                u8({4}, {2, 3, 5, 255}));
  EXPECT_TENSOR(quantize(x, f32({}, {1}), i8({}, {-128})),
                i8({4}, {-128, -128, -126, 127}));
}

TEST(Quantize, TakesAScaleForEachPositionOfAnAxis) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TENSOR(quantize(x, f32({3}, {1, 0.5f, 0.25f})),
                i8({2, 3}, {1, 4, 12, 4, 10, 24}));
  EXPECT_TENSOR(quantize(x, f32({2}, {1, 2}), i8({2}, {0, 10}), {.axis = 0}),
                i8({2, 3}, {1, 2, 3, 12, 12, 13}));
  EXPECT_TENSOR(dequantize(i8({2, 3}, {1, 2, 3, 12, 12, 13}), f32({2}, {1, 2}),
                           i8({2}, {0, 10}), 0),
                f32({2, 3}, {1, 2, 3, 4, 4, 6}));
}

TEST(Quantize, RefusesWhatDoesNotFit) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_NE(message_of([&] {
              quantize(x, f32({2}, {1, 2}));
            }).find("2 scales for axis 1 of 3"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              quantize(x, f32({}, {1}), u8({}, {3}));
            }).find("the zero point must be i8[]"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              quantize(x, f32({}, {1}), {.dtype = DType::kI32});
            }).find("quantizes to i8 or u8, not i32"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              integer_matmul(u8({1, 1}, {1}), u8({1, 1}, {1}));
            }).find("multiplies i8 or u8 by i8, not u8 by u8"),
            std::string::npos);
}

// The difference is rounded once, to an even mantissa.
TEST(Dequantize, SubtractsZeroPointsOfI32Exactly) {
  EXPECT_TENSOR(
      dequantize(i32({2}, {16777217, -5}), f32({}, {2}), i32({}, {16777216})),
      f32({2}, {2, -33554440.0f}));
}

// d(q - z) s / ds = q - z, and nothing flows into integers.
TEST(Dequantize, TheScaleHasAGradient) {
  Tape tape;
  Value scale = f32({2}, {0.5f, 2});
  tape.watch(scale);
  const Value y =
      sum(dequantize(i8({2, 2}, {1, 2, 3, 4}), scale, i8({2}, {1, 1})));
  EXPECT_TENSOR(tape.gradient(y, {&scale, 1})[0], f32({2}, {2, 4}));
}

// 63.5 is 127 of the scale, and 63.9 rounds to more than that.
TEST(FakeQuantize, PassesTheGradientStraightThroughWithinTheRange) {
  Value x = f32({6}, {0.3f, 63.5f, 63.9f, -64, -65, NAN});
  const Value y = f32({6}, {0.5f, 63.5f, 63.5f, -64, -64, 0});
  const Value slopes = f32({6}, {3, 3, 0, 3, 0, 0});
  const Value scale = f32({}, {0.5f});
  Tape tape;
  tape.watch(x);
  const Value eager = fake_quantize(x, scale);
  EXPECT_TENSOR(eager, y);
  EXPECT_TENSOR(tape.gradient(sum(eager * 3.0), {&x, 1})[0], slopes);

  FunctionBuilder builder("f");
  Executable executable(builder.build([&] {
    const Value input = builder.parameter(x.type(), "x");
    const Value staged = fake_quantize(input, scale);
    return std::vector{staged, gradients(sum(staged * 3.0), {&input, 1})[0]};
  }));
  const Tensor argument = x.tensor();
  const auto results = executable.run({&argument, 1});
  EXPECT_TENSOR(Value(results[0]), y);
  EXPECT_TENSOR(Value(results[1]), slopes);
}

// What a user would write for a layer: two steps of a plan, the product, and
// one pass for scales, bias, relu and the next layer's integers.
TEST(Quantize, AQuantizedLayerIsAProductAndOneLoop) {
  FunctionBuilder builder("layer");
  Executable layer(builder.build([&] {
    const Value x = builder.parameter({DType::kU8, {2, 3}}, "x");
    const Value w = builder.parameter({DType::kI8, {3, 2}}, "w");
    const Value scales = builder.parameter({DType::kF32, {2}}, "scales");
    const Value bias = builder.parameter({DType::kF32, {2}}, "bias");
    const Value y = relu(dequantize(integer_matmul(x, w), scales) + bias);
    return std::vector{quantize(y, f32({}, {0.25f}), {.dtype = DType::kU8})};
  }));
  const std::vector<Tensor> arguments{
      u8({2, 3}, {255, 255, 0, 1, 2, 3}).tensor(),
      i8({3, 2}, {127, 1, 127, -1, 0, 2}).tensor(),
      f32({2}, {0.5f, 0.25f}).tensor(), f32({2}, {-2, 1}).tensor()};
  EXPECT_TENSOR(Value(layer.run(arguments)[0]), u8({2, 2}, {255, 4, 255, 9}));
  std::vector<std::string> kernels;
  for (const StepInfo& step : layer.plan_for(arguments).steps()) {
    kernels.push_back(step.kernel);
  }
  EXPECT_EQ(kernels.size(), 2u) << fmt::format("{}", fmt::join(kernels, ", "));
}

}  // namespace
}  // namespace weft::testing::quantize_test
