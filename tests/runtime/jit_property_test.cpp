// Random programs do the same eagerly and staged: bit for bit where every op
// runs by itself, and up to rounding where ops are fused.
#include <array>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/base/philox.h"
#include "weft/ops/ops.h"
#include "weft/runtime/jit/jit.h"

namespace weft::jit_property_test {
namespace {

constexpr std::uint64_t kPrograms = 25;  // of each round
constexpr int kOps = 24;
// A row of the larger one is as long as the alignment of a buffer, so that
// parts may lie inside of others; those of the smaller are copied.
const std::array kSquares{Shape{5, 5}, Shape{16, 16}};

// Seeds count from 0; WEFT_TEST_ROUNDS tries more of them.
std::uint64_t rounds() {
  const char* text = std::getenv("WEFT_TEST_ROUNDS");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

// Draws the same program each time it is run.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : seed_(seed) {}

  std::vector<Value> operator()(const Value& a, const Value& b) const {
    std::uint64_t next = 0;
    const auto draw = [&](std::size_t count) {
      return RandomStream{seed_}.word(next++) % count;
    };
    std::vector<Value> values{a, b};
    for (int i = 0; i < kOps; ++i) {
      const Value& x = values[draw(values.size())];
      const Value& y = values[draw(values.size())];
      values.push_back(apply(draw(20), x, y));
    }
    return {values.end() - 4, values.end()};
  }

 private:
  // Results stay in [-1, 1] or so, and square.
  static Value apply(std::size_t op, const Value& x, const Value& y) {
    const Dim size = x.shape()[0];
    switch (op) {
      case 0:
        return (x + y) * 0.5;
      case 1:
        return x * y;
      case 2:
        return tanh(x - y);
      case 3:
        return maximum(x, y);
      case 4:
        return exp(minimum(x, y)) * 0.3;
      case 5:
        return matmul(x, y) / 5.0;
      case 6:
        return matmul(x, y, {.transpose_b = true}) * 0.2;
      case 7:
        return transpose(x) - y * 0.5;
      case 8:
        return x - mean(x, {1}, /*keep_dims=*/true);
      case 9:
        return sigmoid(sum(x * y, {0}, /*keep_dims=*/true)) * y;
      case 10:
        return where(less(x, y), x, relu(y));
      case 11:
        return concat(
            std::vector{slice_axis(x, 0, 2, kToEnd), slice_axis(y, 0, 0, 2)},
            0);
      case 12:
        return reshape(transpose(reshape(x, {1, size, size}), {0, 2, 1}),
                       {size, size});
      case 13:
        return x * reduce_max(abs(y));
      case 14:
        return square(x) - 0.5;
      case 15: {
        const auto parts = split(x, {1, size - 3, 2}, 0);
        return concat(std::vector{parts[2], tanh(parts[1]), parts[0]}, 0);
      }
      case 16: {
        const auto both = concat(std::vector{x * 0.5, y * y}, 0);
        return slice_axis(both, 0, 0, size) + slice_axis(both, 0, size, kToEnd);
      }
      case 17: {
        // Parts that begin within an aligned row.
        const Value flat = reshape(x, {size * size});
        return reshape(concat(std::vector{slice_axis(flat, 0, 3, kToEnd),
                                          slice_axis(flat, 0, 0, 3)},
                              0),
                       {size, size});
      }
      case 18:
        return reshape(transpose(reshape(x, {size, 1, size}), {1, 0, 2}),
                       {size, size}) *
               y;
      default:
        return y / (abs(x) + 1.0);
    }
  }

  std::uint64_t seed_;
};

std::vector<Value> inputs(std::uint64_t seed) {
  const Shape& square = kSquares[seed % kSquares.size()];
  return {test::pattern(square, -1, 1, seed),
          test::pattern(square, -1, 1, seed + 1000)};
}

// In another dtype, and with something in it that is no number.
std::vector<Value> special_inputs(std::uint64_t seed, DType dtype) {
  auto values = inputs(seed);
  for (Value& value : values) {
    const Tensor tensor = value.tensor().clone();
    const auto place = RandomStream{seed, 1}.word(0) % 25;
    const auto kind = RandomStream{seed, 1}.word(1) % 4;
    constexpr std::array kSpecial{NAN, HUGE_VALF, -HUGE_VALF, -0.0f};
    tensor.data<float>()[place] = kSpecial[kind];
    value = cast(Value(tensor), dtype);
  }
  return values;
}

TEST(RandomPrograms, WithoutFusionHaveTheSameBits) {
  for (std::uint64_t seed = 0; seed < kPrograms * rounds(); ++seed) {
    const RandomProgram program(seed);
    const auto staged = jit(program, {.fuse = false});
    for (const DType dtype :
         {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
      const auto in = special_inputs(seed, dtype);
      const auto expected = program(in[0], in[1]);
      const auto actual = staged(in[0], in[1]);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(identical(actual[i].tensor(), expected[i].tensor()))
            << "program " << seed << ", result " << i << ", "
            << to_string(dtype);
      }
    }
  }
}

TEST(RandomPrograms, WithFusionDifferByRounding) {
  for (std::uint64_t seed = 0; seed < kPrograms * rounds(); ++seed) {
    const RandomProgram program(seed);
    const auto staged = jit(program);
    const auto in = inputs(seed);
    const auto expected = program(in[0], in[1]);
    const auto actual = staged(in[0], in[1]);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::near(actual[i].tensor(), expected[i].tensor(), 1e-6))
          << "program " << seed << ", result " << i;
    }
  }
}

// What is no number stays so, or gives way, as it does eagerly.
TEST(RandomPrograms, WithFusionKeepNan) {
  for (std::uint64_t seed = 0; seed < kPrograms * rounds(); ++seed) {
    const RandomProgram program(seed);
    const auto staged = jit(program);
    auto in = inputs(seed);
    const Tensor x = in[0].tensor().clone();
    x.data<float>()[seed % 25] = NAN;
    in[0] = x;
    const auto expected = program(in[0], in[1]);
    const auto actual = staged(in[0], in[1]);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::near(actual[i].tensor(), expected[i].tensor(), 1e-6))
          << "program " << seed << ", result " << i;
    }
  }
}

// The gradient of all results, by a tape around a staged call, inside of it,
// and without one.
TEST(RandomPrograms, HaveTheSameGradients) {
  const auto loss = [](const std::vector<Value>& results) {
    Value total = scalar(0, DType::kF32);
    for (const Value& result : results) total = total + sum(result);
    return total;
  };
  const auto gradient = [&](auto&& program, const std::vector<Value>& in) {
    std::vector<Value> watched = in;
    Tape tape;
    for (Value& value : watched) tape.watch(value);
    return tape.gradient(loss(program(watched[0], watched[1])), watched);
  };
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram program(seed);
    const auto in = inputs(seed);
    const auto expected = gradient(program, in);
    const auto around = gradient(jit(program), in);
    const auto inside = jit([&](const Value& a, const Value& b) {
      return gradient(program, {a, b});
    })(in[0], in[1]);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::near(around[i].tensor(), expected[i].tensor(), 1e-4))
          << "program " << seed;
      EXPECT_TRUE(test::near(inside[i].tensor(), expected[i].tensor(), 1e-4))
          << "program " << seed;
    }
  }
}

}  // namespace
}  // namespace weft::jit_property_test
