// Hand-computed cases of reductions, order and index ops.
#include <functional>
#include <limits>

#include "tests/support/exact.h"

#include "weft/runtime/eager.h"

namespace weft::testing::reduce_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Reduce, OverAnyAxes) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TENSOR(sum(x), f32({}, {21}));
  EXPECT_TENSOR(sum(x, {0}), f32({3}, {5, 7, 9}));
  EXPECT_TENSOR(sum(x, {-1}, true), f32({2, 1}, {6, 15}));
  EXPECT_TENSOR(mean(x, {1}), f32({2}, {2, 5}));
  EXPECT_TENSOR(product(x, {1}), f32({2}, {6, 120}));
  EXPECT_TENSOR(reduce_max(x, {0}), f32({3}, {4, 5, 6}));
  EXPECT_TENSOR(reduce_min(x), f32({}, {1}));
  EXPECT_TENSOR(argmax(f32({2, 3}, {1, 9, 9, 7, 0, 7}), 1), i64({2}, {1, 0}));
  EXPECT_TENSOR(argmax(x, 0, true), i64({1, 3}, {1, 1, 1}));
  EXPECT_TENSOR(argmin(f32({2, 3}, {1, 0, 0, 7, 9, 7}), 1), i64({2}, {1, 0}));
}

TEST(Reduce, AnyAndAll) {
  const Value x = boolean({2, 2}, {true, false, true, true});
  EXPECT_TENSOR(any(x, {0}), boolean({2}, {true, true}));
  EXPECT_TENSOR(all(x, {0}), boolean({2}, {true, false}));
  EXPECT_TENSOR(all(x, {1}, true), boolean({2, 1}, {false, true}));
  const Value none = boolean({0, 2}, {});
  EXPECT_TENSOR(any(none, {0}), boolean({2}, {false, false}));
  EXPECT_TENSOR(all(none), boolean({}, {true}));
  EXPECT_NE(message_of([] { any(f32({1}, {1})); }).find("takes bool for x"),
            std::string::npos);
}

// One element that differs, at every kind of place of a long row or column.
TEST(Reduce, AnyAndAllSeeEveryElement) {
  constexpr Dim kSize = 10007;
  for (const Dim place : {0, 63, 64, 8191, 8192, 10006}) {
    for (const bool odd : {false, true}) {
      const Tensor x = Tensor::empty({DType::kBool, {kSize}});
      std::fill_n(x.data<bool>(), kSize, !odd);
      x.data<bool>()[place] = odd;
      for (const Shape& shape : {Shape{1, kSize}, Shape{kSize, 1}}) {
        const Value rows = reshape(Value(x), shape);
        EXPECT_TENSOR(any(rows), boolean({}, {true}));
        EXPECT_TENSOR(all(rows), boolean({}, {false}));
      }
      const Value columns =
          broadcast_to(reshape(Value(x), {kSize, 1}), {kSize, 3});
      EXPECT_TENSOR(any(columns, {0}), boolean({3}, {true, true, true}));
      EXPECT_TENSOR(all(columns, {0}), boolean({3}, {false, false, false}));
    }
  }
}

TEST(Reduce, OfNothing) {
  EXPECT_TENSOR(sum(f32({0, 2}, {}), {0}), f32({2}, {0, 0}));
  EXPECT_TENSOR(product(f32({0}, {})), f32({}, {1}));
  EXPECT_TENSOR(mean(f32({0}, {})), f32({}, {kNaN}));
  EXPECT_NE(message_of([] {
              reduce_max(f32({2, 0}, {}), {1});
            }).find("max: axis 1 has no elements to choose from"),
            std::string::npos);
  EXPECT_TENSOR(reduce_max(f32({2, 0}, {}), {0}), f32({0}, {}));
}

TEST(Reduce, NaNWinsTheMaximumAndTheArgmax) {
  const Value x = f32({4}, {1, kNaN, 3, 2});
  EXPECT_TENSOR(reduce_max(x), f32({}, {kNaN}));
  EXPECT_TENSOR(reduce_min(x), f32({}, {kNaN}));
  EXPECT_TENSOR(argmax(x, 0), i64({}, {1}));
  EXPECT_TENSOR(argmin(x, 0), i64({}, {1}));
}

TEST(Reduce, RefusesWrongAxes) {
  const Value x = f32({2}, {1, 2});
  EXPECT_NE(message_of([&] { sum(x, {1}); }).find("axis 1 is outside [-1, 1)"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              sum(x, {0, -1});
            }).find("named twice"),
            std::string::npos);
}

Value gradient_of(Value x, const std::function<Value(const Value&)>& body) {
  Tape tape;
  tape.watch(x);
  return tape.gradient(body(x), {&x, 1})[0];
}

TEST(Reduce, GradientsAtTheSpecialPlaces) {
  const auto largest = [](const Value& x) { return reduce_max(x); };
  EXPECT_TENSOR(gradient_of(f32({3}, {1, 4, 4}), largest),
                f32({3}, {0, 0.5f, 0.5f}));
  const auto all = [](const Value& x) { return product(x); };
  EXPECT_TENSOR(gradient_of(f32({3}, {2, 3, 4}), all), f32({3}, {12, 8, 6}));
  EXPECT_TENSOR(gradient_of(f32({3}, {2, 0, 4}), all), f32({3}, {0, 8, 0}));
  EXPECT_TENSOR(gradient_of(f32({3}, {0, 0, 4}), all), f32({3}, {0, 0, 0}));
}

// Adding 1 to 2^24 in f32 one at a time would stop there.
TEST(Reduce, LongSumsStayExact) {
  const Value ones = full({DType::kF32, {1 << 25}}, 1);
  EXPECT_EQ(sum(ones).tensor().item(), 1 << 25);
  const Value columns = full({DType::kF32, {1 << 20, 3}}, 1);
  EXPECT_TENSOR(sum(columns, {0}), f32({3}, {1 << 20, 1 << 20, 1 << 20}));
}

TEST(Index, CountsFromBothEnds) {
  const Value x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_TENSOR(gather(x, i64({3}, {2, -3, -1})),
                f32({3, 2}, {5, 6, 1, 2, 5, 6}));
  EXPECT_TENSOR(gather(x, i64({1, 1}, {1}), 1), f32({3, 1, 1}, {2, 4, 6}));
  EXPECT_TENSOR(pick(x, i64({3}, {0, 1, 0})), f32({3}, {1, 4, 5}));
  EXPECT_TENSOR(pick(x, i64({3, 2}, {1, 0, 0, 0, 1, 1})),
                f32({3, 2}, {2, 1, 3, 3, 6, 6}));
  EXPECT_TENSOR(scatter_add(f32({3}, {1, 2, 4}), i64({3}, {1, 1, 0}), 3),
                f32({3}, {4, 3, 0}));
  EXPECT_TENSOR(one_hot(i64({2}, {1, 0}), 3), f32({2, 3}, {0, 1, 0, 1, 0, 0}));
  EXPECT_NE(message_of([&] {
              gather(x, f32({1}, {0}));
            }).find("indices must be i32 or i64, got f32"),
            std::string::npos);
}

TEST(Sort, IsStableAndPutsNaNLast) {
  const auto [up, from] = sort(f32({5}, {2, kNaN, 1, 2, -0.0f}));
  EXPECT_TENSOR(up, f32({5}, {0, 1, 2, 2, kNaN}));
  EXPECT_TENSOR(from, i64({5}, {4, 2, 0, 3, 1}));
  const auto [down, places] = sort(f32({4}, {1, 3, 3, 2}), true);
  EXPECT_TENSOR(down, f32({4}, {3, 3, 2, 1}));
  EXPECT_TENSOR(places, i64({4}, {1, 2, 3, 0}));
}

TEST(Sort, TopKKeepsTheFirstOfTies) {
  const auto [values, positions] =
      top_k(f32({2, 9}, {5, 1, 5, 2, 0, 0, 0, 0, 0,  //
                         0, 0, 0, 0, 0, 0, 0, 7, 7}),
            2);
  EXPECT_TENSOR(values, f32({2, 2}, {5, 5, 7, 7}));
  EXPECT_TENSOR(positions, i64({2, 2}, {0, 2, 7, 8}));
  EXPECT_NE(message_of([] {
              top_k(f32({2}, {1, 2}), 3);
            }).find("k = 3 is outside [1, 2]"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::testing::reduce_test
