// Hand-computed cases of arithmetic, comparison and unary ops.
#include <cmath>
#include <limits>

#include "tests/support/exact.h"

#include "weft/graph/builder.h"
#include "weft/tensor/symbol.h"

namespace weft::testing::elementwise_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Broadcasting, FollowsNumPy) {
  const Value column = f32({2, 1}, {10, 20});
  const Value row = f32({3}, {1, 2, 3});
  EXPECT_TENSOR(column + row, f32({2, 3}, {11, 12, 13, 21, 22, 23}));
  EXPECT_TENSOR(f32({}, {5}) * row, f32({3}, {5, 10, 15}));
  EXPECT_TENSOR(f32({1, 1, 1}, {2}) - f32({}, {1}), f32({1, 1, 1}, {1}));
  EXPECT_TENSOR(f32({0, 3}, {}) + row, f32({0, 3}, {}));
  EXPECT_TENSOR(f32({1}, {1}) + f32({0}, {}), f32({0}, {}));
}

TEST(Broadcasting, RefusesWhatDoesNotFit) {
  const Value a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value b = f32({2}, {1, 2});
  const std::string text = message_of([&] { add(a, b); });
  EXPECT_NE(text.find("add: shapes do not broadcast: axis -1 is 3 and 2"),
            text.npos)
      << text;
  EXPECT_NE(text.find("input a: f32[2, 3]"), text.npos) << text;
  EXPECT_NE(text.find("input b: f32[2]"), text.npos) << text;
  EXPECT_NE(text.find("elementwise_test.cpp:"), text.npos) << text;
}

TEST(Broadcasting, KeepsSymbols) {
  FunctionBuilder builder("f");
  const Dim n = symbol("N");
  const Value x = builder.parameter({DType::kF32, {n, 3}});
  const Value bias = builder.parameter({DType::kF32, {3}});
  const Value five = builder.parameter({DType::kF32, {5, 3}});
  builder.build([&] {
    EXPECT_EQ(to_string((x + bias).type()), "f32[N, 3]");
    EXPECT_NE(message_of([&] { add(x, five); }).find("axis -2 is N and 5"),
              std::string::npos);
    return std::vector{x};
  });
}

TEST(Arithmetic, MixedDtypesAreAnError) {
  const std::string text =
      message_of([] { add(f32({1}, {1}), i64({1}, {1})); });
  EXPECT_NE(text.find("one dtype, got f32 and i64"), text.npos) << text;
  EXPECT_NE(text.find("cast()"), text.npos) << text;
}

TEST(Arithmetic, ANumberTakesTheOtherDtype) {
  EXPECT_TENSOR(2.0 * i64({2}, {3, 4}), i64({2}, {6, 8}));
  EXPECT_TENSOR(1.0 / f32({2}, {2, 4}), f32({2}, {0.5f, 0.25f}));
}

TEST(Arithmetic, ANumberThatIntegersLackIsRefused) {
  const Value x = cast(i64({2}, {3, 4}), DType::kU8);
  for (const double number : {-1.0, 300.0, 0.5, std::nan("")}) {
    EXPECT_NE(message_of([&] { number* x; }).find("does not fit u8"),
              std::string::npos);
    EXPECT_NE(message_of([&] { full(x.type(), number); }).find("fit u8"),
              std::string::npos);
  }
  EXPECT_TENSOR(full({DType::kI64, {1}}, -0x1p63),
                i64({1}, {std::numeric_limits<std::int64_t>::min()}));
}

TEST(Arithmetic, IntegersDivideWithoutTrapping) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_TENSOR(i64({4}, {7, -7, 5, kLeast}) / i64({4}, {2, 2, 0, -1}),
                i64({4}, {3, -3, 0, kLeast}));
}

TEST(Arithmetic, PowersOfIntegersAndFloats) {
  EXPECT_TENSOR(power(i64({4}, {2, -1, 3, 0}), i64({4}, {10, -3, -1, 0})),
                i64({4}, {1024, -1, 0, 1}));
  EXPECT_TENSOR(power(f32({2}, {0, 4}), f32({2}, {0, 0.5f})), f32({2}, {1, 2}));
}

TEST(Arithmetic, NaNWinsAMaximum) {
  EXPECT_TENSOR(maximum(f32({3}, {kNaN, 1, 2}), f32({3}, {1, kNaN, 3})),
                f32({3}, {kNaN, kNaN, 3}));
  EXPECT_TENSOR(minimum(f32({3}, {kNaN, 1, 2}), f32({3}, {1, kNaN, 3})),
                f32({3}, {kNaN, kNaN, 2}));
}

TEST(Compare, NaNEqualsNothing) {
  const Value a = f32({3}, {kNaN, 1, 2});
  EXPECT_TENSOR(equal(a, a), boolean({3}, {false, true, true}));
  EXPECT_TENSOR(not_equal(a, a), boolean({3}, {true, false, false}));
  EXPECT_TENSOR(less(a, f32({}, {2})), boolean({3}, {false, true, false}));
}

TEST(Compare, WhereBroadcastsAllThree) {
  EXPECT_TENSOR(
      where(boolean({2, 1}, {true, false}), f32({2}, {1, 2}), f32({}, {9})),
      f32({2, 2}, {1, 2, 9, 9}));
  EXPECT_NE(message_of([] {
              where(f32({1}, {1}), f32({1}, {1}), f32({1}, {1}));
            }).find("takes bool for condition, got f32"),
            std::string::npos);
}

TEST(Arithmetic, FloorDivisionRoundsDown) {
  const Value a = f32({6}, {7, -7, 7, -7, 6, -6});
  const Value b = f32({6}, {2, 2, -2, -2, 2, -2});
  EXPECT_TENSOR(floor_divide(a, b), f32({6}, {3, -4, -4, 3, 3, 3}));
  EXPECT_TENSOR(remainder(a, b), f32({6}, {1, 1, -1, -1, 0, 0}));
  EXPECT_TENSOR(remainder(f32({2}, {-1, 1}), f32({1}, {kInfinity})),
                f32({2}, {kInfinity, 1}));
  EXPECT_TENSOR(floor_divide(f32({3}, {-1, 1, 0}), f32({1}, {0})),
                f32({3}, {-kInfinity, kInfinity, kNaN}));
  // A quotient of more digits than double has.
  EXPECT_TENSOR(remainder(f32({1}, {1e30f}), f32({1}, {7})), f32({1}, {1}));
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  const Value p = i64({4}, {7, -7, 5, kLeast});
  const Value q = i64({4}, {-2, 2, 0, -1});
  EXPECT_TENSOR(floor_divide(p, q), i64({4}, {-4, -4, 0, kLeast}));
  EXPECT_TENSOR(remainder(p, q), i64({4}, {-1, 1, 0, 0}));
}

TEST(Bits, OfIntegersAndBools) {
  const Value a = i64({3}, {12, -1, 5});
  const Value b = i64({3}, {10, 6, -8});
  EXPECT_TENSOR(bitwise_and(a, b), i64({3}, {8, 6, 0}));
  EXPECT_TENSOR(bitwise_or(a, b), i64({3}, {14, -1, -3}));
  EXPECT_TENSOR(bitwise_xor(a, b), i64({3}, {6, -7, -3}));
  EXPECT_TENSOR(bitwise_not(a), i64({3}, {-13, 0, -6}));
  EXPECT_TENSOR(bitwise_not(cast(a, DType::kU8)),
                cast(i64({3}, {243, 0, 250}), DType::kU8));
  const Value yes_no = boolean({2}, {true, false});
  EXPECT_TENSOR(bitwise_not(yes_no), boolean({2}, {false, true}));
  EXPECT_TENSOR(bitwise_xor(yes_no, boolean({}, {true})),
                boolean({2}, {false, true}));
  EXPECT_NE(message_of([] {
              bitwise_and(f32({1}, {1}), f32({1}, {1}));
            }).find("takes integers or bool, got f32"),
            std::string::npos);
}

TEST(Bits, ShiftsMoveThemOut) {
  const Value a = i64({6}, {5, -5, 5, -5, 5, -5});
  const Value by = i64({6}, {1, 1, 64, 64, -1, -1});
  EXPECT_TENSOR(shift_left(a, by), i64({6}, {10, -10, 0, 0, 0, 0}));
  EXPECT_TENSOR(shift_right(a, by), i64({6}, {2, -3, 0, -1, 0, -1}));
  const auto bytes = [](std::initializer_list<std::int64_t> values) {
    return cast(i64({3}, values), DType::kI8);
  };
  EXPECT_TENSOR(shift_left(bytes({100, -100, 1}), bytes({1, 1, 8})),
                bytes({-56, 56, 0}));
  EXPECT_TENSOR(shift_right(bytes({100, -100, -1}), bytes({3, 3, 8})),
                bytes({12, -13, -1}));
  EXPECT_NE(message_of([] {
              shift_left(boolean({1}, {true}), boolean({1}, {true}));
            }).find("takes numbers, got bool"),
            std::string::npos);
}

TEST(Compare, WhatIsFinite) {
  const Value x = f32({4}, {kNaN, kInfinity, -kInfinity, 3});
  EXPECT_TENSOR(is_finite(x), boolean({4}, {false, false, false, true}));
  EXPECT_TENSOR(is_nan(x), boolean({4}, {true, false, false, false}));
  EXPECT_TENSOR(is_finite(i64({1}, {7})), boolean({1}, {true}));
}

TEST(Unary, EdgesOfTheRange) {
  EXPECT_TENSOR(sigmoid(f32({3}, {-kInfinity, 0, kInfinity})),
                f32({3}, {0, 0.5f, 1}));
  EXPECT_TENSOR(tanh(f32({2}, {-kInfinity, kInfinity})), f32({2}, {-1, 1}));
  EXPECT_TENSOR(relu(f32({3}, {-1, 0, 2})), f32({3}, {0, 0, 2}));
  EXPECT_TENSOR(sign(f32({3}, {-4, 0, 2})), f32({3}, {-1, 0, 1}));
  EXPECT_TENSOR(floor(f32({3}, {-1.5f, 1.5f, 2})), f32({3}, {-2, 1, 2}));
  EXPECT_TENSOR(ceil(f32({3}, {-1.5f, 1.5f, 2})), f32({3}, {-1, 2, 2}));
  EXPECT_TENSOR(round(f32({5}, {-1.5f, -0.5f, 0.5f, 1.5f, 2.5f})),
                f32({5}, {-2, 0, 0, 2, 2}));
  EXPECT_TENSOR(sin(f32({2}, {0, kInfinity})), f32({2}, {0, kNaN}));
  EXPECT_TENSOR(asin(f32({2}, {1.5f, 0})), f32({2}, {kNaN, 0}));
  EXPECT_TENSOR(log1p(f32({3}, {-1, 0, -2})), f32({3}, {-kInfinity, 0, kNaN}));
  EXPECT_TENSOR(expm1(f32({2}, {-kInfinity, 1e-20f})), f32({2}, {-1, 1e-20f}));
  EXPECT_TENSOR(clamp(f32({3}, {-2, 0.5f, 3}), -1, 1), f32({3}, {-1, 0.5f, 1}));
  EXPECT_TENSOR(abs(i64({2}, {-3, 3})), i64({2}, {3, 3}));
}

TEST(Unary, CastTruncatesTowardZero) {
  EXPECT_TENSOR(cast(f32({4}, {-1.9f, 1.9f, 0.5f, 3}), DType::kI64),
                i64({4}, {-1, 1, 0, 3}));
  EXPECT_TENSOR(cast(f32({3}, {0, 0.25f, -1}), DType::kBool),
                boolean({3}, {false, true, true}));
}

TEST(Unary, NeedsFloats) {
  const std::string text = message_of([] { exp(i64({1}, {1})); });
  EXPECT_NE(text.find("exp: takes floating operands, got i64"), text.npos)
      << text;
}

}  // namespace
}  // namespace weft::testing::elementwise_test
