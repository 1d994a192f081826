// Hand-computed cases of what runs along an axis.
#include <functional>
#include <limits>

#include "tests/support/exact.h"

#include "weft/runtime/eager.h"

namespace weft::testing::running_test {
namespace {

using Function = std::function<Value(const Value&)>;

Function gradient_of(const Function& body) {
  return [body](const Value& x) {
    Value argument = x;
    Tape tape;
    tape.watch(argument);
    return tape.gradient(sum(body(argument)), {&argument, 1})[0];
  };
}

// The product of the function's second derivatives with `direction`.
Function curvature_of(const Function& body, const Value& direction) {
  return gradient_of([gradient = gradient_of(body), direction](const Value& x) {
    return gradient(x) * direction;
  });
}

TEST(Running, SumsEitherWay) {
  const Value x = f32({3}, {1, 2, 3});
  EXPECT_TENSOR(cumsum(x, 0), f32({3}, {1, 3, 6}));
  EXPECT_TENSOR(cumsum(x, 0, true), f32({3}, {0, 1, 3}));
  EXPECT_TENSOR(cumsum(x, 0, false, true), f32({3}, {6, 5, 3}));
  EXPECT_TENSOR(cumsum(x, 0, true, true), f32({3}, {5, 3, 0}));
}

TEST(Running, ProductsEitherWay) {
  const Value x = f32({4}, {2, 3, 4, 5});
  EXPECT_TENSOR(cumprod(x, 0), f32({4}, {2, 6, 24, 120}));
  EXPECT_TENSOR(cumprod(x, 0, true), f32({4}, {1, 2, 6, 24}));
  EXPECT_TENSOR(cumprod(x, 0, false, true), f32({4}, {120, 60, 20, 5}));
  EXPECT_TENSOR(cumprod(x, 0, true, true), f32({4}, {60, 20, 5, 1}));
  EXPECT_TENSOR(cumprod(i64({2, 2}, {2, -3, 5, 7}), 0),
                i64({2, 2}, {2, -3, 10, -21}));
}

// 3^50 is more than i64 holds; its low bits stay.
TEST(Running, ProductsOfIntegersWrapAround) {
  std::uint64_t low = 1;
  for (int i = 0; i < 50; ++i) low *= 3;
  const Value y = cumprod(full({DType::kI64, {50}}, 3), 0);
  EXPECT_EQ(y.tensor().span<std::int64_t>()[49], static_cast<std::int64_t>(low));
}

TEST(Running, RecurrencesEitherWay) {
  const Value a = f32({3}, {2, 3, 4});
  const Value b = f32({3}, {1, 5, 6});
  EXPECT_TENSOR(linear_recurrence(a, b, 0), f32({3}, {1, 8, 38}));
  EXPECT_TENSOR(linear_recurrence(a, b, 0, true), f32({3}, {47, 23, 6}));
}

// The first has none before it, so that what a is there does not matter.
TEST(Running, RecurrencesBeginWithB) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TENSOR(linear_recurrence(f32({2, 2}, {nan, 2, 3, nan}),
                                  f32({2, 2}, {1, 1, 1, 1}), 0),
                f32({2, 2}, {1, 1, 4, nan}));
  EXPECT_TENSOR(linear_recurrence(f32({2}, {nan, 3}), f32({2}, {1, 1}), 0),
                f32({2}, {1, 4}));
}

TEST(Running, RefusesRecurrencesOfTwoTypes) {
  EXPECT_NE(message_of([] {
              linear_recurrence(f32({2}, {1, 1}), f32({1}, {1}), 0);
            }).find("a is f32[2], and b f32[1]: they must be of one type"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              linear_recurrence(i64({1}, {1}), i64({1}, {1}), 0);
            }).find("i64"),
            std::string::npos);
}

TEST(Running, GradientsOfProductsPassZeros) {
  const Function run = [](const Value& x) { return cumprod(x, 0); };
  // This is y = (2, 0, 0), and dy_1 / dx_1 = 2, dy_2 / dx_1 = 2 x_2.
  EXPECT_TENSOR(gradient_of(run)(f32({3}, {2, 0, 5})), f32({3}, {1, 12, 0}));
  const Function exclusive = [](const Value& x) { return cumprod(x, 0, true); };
  EXPECT_TENSOR(gradient_of(exclusive)(f32({3}, {2, 0, 5})),
                f32({3}, {1, 2, 0}));
}

// The second derivative by two elements is the product of the others, whatever
// these are.
TEST(Running, CurvatureOfProductsPassesZeros) {
  const Function all = [](const Value& x) { return product(x); };
  EXPECT_TENSOR(curvature_of(all, f32({3}, {1, 2, 3}))(f32({3}, {2, 0, 4})),
                f32({3}, {8, 10, 4}));
  EXPECT_TENSOR(
      curvature_of(all, f32({4}, {1, 2, 3, 4}))(f32({4}, {2, 0, 4, 0})),
      f32({4}, {0, 32, 0, 16}));
  // The same elements over two axes, beside others that make 1.
  EXPECT_TENSOR(curvature_of(
                    [](const Value& x) {
                      return product(x, {0, 2});
                    },
                    f32({2, 1, 2}, {1, 2, 3, 4}))(f32({2, 1, 2}, {2, 0, 4, 0})),
                f32({2, 1, 2}, {0, 32, 0, 16}));
  // The third derivative by three different elements is 1.
  EXPECT_TENSOR(
      curvature_of(gradient_of(all), f32({3}, {1, 1, 1}))(f32({3}, {0, 0, 0})),
      f32({3}, {2, 2, 2}));
}

}  // namespace
}  // namespace weft::testing::running_test
