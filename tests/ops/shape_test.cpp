// Hand-computed cases of ops that move elements, and their symbolic shapes.
#include "tests/support/exact.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/builder.h"
#include "weft/runtime/executable.h"
#include "weft/tensor/symbol.h"

namespace weft::testing::shape_test {
namespace {

const Dim kN = symbol("N");

// The inferred type of what `body` makes from a parameter of that shape.
template <class Body>
std::string staged_type(const Shape& shape, Body&& body) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, shape});
  std::string text;
  builder.build([&] {
    text = to_string(body(x).type());
    return std::vector{x};
  });
  return text;
}

TEST(Reshape, FillsInTheRest) {
  EXPECT_EQ(reshape(f32({2, 3}, {1, 2, 3, 4, 5, 6}), {3, -1}).shape(),
            (Shape{3, 2}));
  EXPECT_EQ(staged_type({kN, 4, 2},
                        [](const Value& x) {
                          return reshape(x, {-1, 8});
                        }),
            "f32[N, 8]");
  EXPECT_EQ(
      staged_type({kN, 4}, [](const Value& x) { return reshape(x, {-1}); }),
      "f32[4*N]");
}

TEST(Reshape, RefusesOtherSizes) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_NE(message_of([&] {
              reshape(x, {4, 2});
            }).find("reshape: 6 elements do not fill [4, 2]"),
            std::string::npos);
  for (const Shape& shape : {Shape{4, -1}, Shape{-1, -1}, Shape{0, -1}}) {
    const std::string text = message_of([&] { reshape(x, shape); });
    EXPECT_NE(text.find("no single size for -1 makes 6 elements"), text.npos)
        << text;
    EXPECT_NE(text.find("shape_test.cpp:"), text.npos) << text;
  }
}

TEST(Transpose, PermutesAxes) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TENSOR(transpose(x), f32({3, 2}, {1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(transpose(f32({2, 1, 3}, {1, 2, 3, 4, 5, 6}), {2, 0, 1}).shape(),
            (Shape{3, 2, 1}));
  EXPECT_NE(message_of([&] {
              transpose(x, {0, 0});
            }).find("named twice"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              transpose(x, {0, 2});
            }).find("outside [-2, 2)"),
            std::string::npos);
}

TEST(Slice, CountsFromEitherEnd) {
  const Value x = f32({5}, {0, 1, 2, 3, 4});
  EXPECT_TENSOR(slice(x, {1}, {4}), f32({3}, {1, 2, 3}));
  EXPECT_TENSOR(slice(x, {-2}, {kToEnd}), f32({2}, {3, 4}));
  EXPECT_TENSOR(slice(x, {0}, {-1}, {2}), f32({2}, {0, 2}));
  EXPECT_TENSOR(slice(x, {3}, {3}), f32({0}, {}));
  EXPECT_NE(message_of([&] { slice(x, {0}, {6}); }).find("outside axis 0"),
            std::string::npos);
  EXPECT_NE(message_of([&] { slice(x, {3}, {1}); }).find("after its end"),
            std::string::npos);
}

TEST(Slice, GoesBackward) {
  const Value x = f32({5}, {0, 1, 2, 3, 4});
  EXPECT_TENSOR(slice(x, {kToEnd}, {kToEnd}, {-1}), f32({5}, {4, 3, 2, 1, 0}));
  EXPECT_TENSOR(slice(x, {-2}, {0}, {-2}), f32({2}, {3, 1}));
  EXPECT_TENSOR(slice(x, {2}, {2}, {-1}), f32({0}, {}));
  EXPECT_TENSOR(unslice(f32({2}, {3, 1}), {5}, {-2}, {0}, {-2}),
                f32({5}, {0, 1, 0, 3, 0}));
  EXPECT_TENSOR(reverse(f32({2, 2}, {1, 2, 3, 4}), {0}),
                f32({2, 2}, {3, 4, 1, 2}));
  EXPECT_TENSOR(reverse(f32({2, 2}, {1, 2, 3, 4}), {0, -1}),
                f32({2, 2}, {4, 3, 2, 1}));
  EXPECT_NE(message_of([&] {
              slice(x, {5}, {0}, {-1});
            }).find("axis 0 of size 5 has no element 5"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { slice(x, {0}, {5}, {0}); }).find("step 0 of axis 0"),
      std::string::npos);
}

TEST(Slice, OfSymbolicAxes) {
  const auto type = [](Integers begin, Integers end, Integers steps = {}) {
    return staged_type(
        {kN, 4}, [&](const Value& x) { return slice(x, begin, end, steps); });
  };
  EXPECT_EQ(type({0, 1}, {kToEnd, 3}), "f32[N, 2]");
  EXPECT_EQ(type({1, 0}, {-1, 4}), "f32[N-2, 4]");
  EXPECT_EQ(type({-3, 0}, {kToEnd, 4}), "f32[3, 4]");
  EXPECT_EQ(type({0, 0}, {kToEnd, 4}, {2, 1}), "f32[(N+1)//2, 4]");
  EXPECT_EQ(type({kToEnd, 0}, {kToEnd, 4}, {-1, 1}), "f32[N, 4]");
  EXPECT_EQ(type({-2, 3}, {0, 1}, {-1, -1}), "f32[N-2, 2]");
}

TEST(Concat, JoinsAndSplits) {
  const Value a = f32({2, 1}, {1, 2});
  const Value b = f32({2, 2}, {3, 4, 5, 6});
  const Value joined = concat(std::vector{a, b}, 1);
  EXPECT_TENSOR(joined, f32({2, 3}, {1, 3, 4, 2, 5, 6}));
  const auto parts = split(joined, {1, 2}, -1);
  EXPECT_TENSOR(parts[0], a);
  EXPECT_TENSOR(parts[1], b);
  EXPECT_NE(message_of([&] {
              concat(std::vector{a, b}, 0);
            }).find("differ in more than axis 0"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              split(joined, {1, 1}, 1);
            }).find("add up to 2, but axis 1 has 3"),
            std::string::npos);
  EXPECT_EQ(staged_type({kN, 4},
                        [](const Value& x) {
                          return concat(std::vector{x, x, zeros_like(x)}, 0);
                        }),
            "f32[3*N, 4]");
}

TEST(Concat, TakesAndGivesAnyNumber) {
  const auto parts = split(iota(40), Integers(40, 1), 0);
  ASSERT_EQ(parts.size(), 40u);
  EXPECT_TENSOR(parts[39], i64({1}, {39}));
  EXPECT_TENSOR(concat(parts, 0), iota(40));
}

TEST(Pad, PutsAValueAround) {
  EXPECT_TENSOR(pad(f32({2}, {1, 2}), {1}, {2}, 9), f32({5}, {9, 1, 2, 9, 9}));
  EXPECT_EQ(staged_type({kN}, [](const Value& x) { return pad(x, {1}, {2}); }),
            "f32[N+3]");
}

TEST(Tile, RepeatsTheWhole) {
  EXPECT_TENSOR(tile(f32({1, 2}, {1, 2}), {2, 2}),
                f32({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST(BroadcastTo, AddsAndStretchesAxes) {
  EXPECT_TENSOR(broadcast_to(f32({2, 1}, {1, 2}), {2, 2, 2}),
                f32({2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_NE(message_of([] {
              broadcast_to(f32({2}, {1, 2}), {3});
            }).find("does not broadcast to [3]"),
            std::string::npos);
}

// Gradients of staged functions keep their symbols, and run at any size.
TEST(SymbolicGradients, RunAtEverySize) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {kN, 2}}, "x");
  const Value bias = builder.parameter({DType::kF32, {2}}, "bias");
  Executable executable(builder.build([&] {
    const Value y = x + bias;
    const Value last = slice(y, {-1, 0}, {kToEnd, 2});
    const Value both = concat(std::vector{last, y}, 0);
    const Value loss = mean(square(reshape(both, {-1})));
    const Value wrt[] = {x, bias};
    auto results = gradients(loss, wrt);
    results.insert(results.begin(), loss);
    return results;
  }));
  for (const Dim n : {1, 2, 5}) {
    const Tensor ones =
        ones_like(Value(Tensor::zeros({DType::kF32, {n, 2}}))).tensor();
    const auto results =
        executable.run(std::vector{ones, Tensor::zeros({DType::kF32, {2}})});
    EXPECT_FLOAT_EQ(static_cast<float>(results[0].item()), 1);
    // 2 / count for each use of an element; the last row is used twice.
    const double share = 1 / static_cast<double>(n + 1);
    EXPECT_NEAR(results[1].item(0), n == 1 ? 2 * share : share, 1e-6);
    EXPECT_NEAR(results[1].item(2 * n - 1), 2 * share, 1e-6);
    EXPECT_NEAR(results[2].item(0), 1, 1e-6);
  }
}

}  // namespace
}  // namespace weft::testing::shape_test
