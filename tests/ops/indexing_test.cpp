// Hand-computed cases of slices and rows whose places are computed, and what
// plans do with them.
#include <functional>
#include <limits>

#include "tests/support/exact.h"

#include "weft/graph/builder.h"
#include "weft/graph/index_check.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/executable.h"
#include "weft/tensor/symbol.h"

namespace weft::testing::indexing_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Value gradient_of(Value x, const std::function<Value(const Value&)>& body) {
  Tape tape;
  tape.watch(x);
  return tape.gradient(sum(body(x)), {&x, 1})[0];
}

TEST(DynamicSlice, CutsAndPutsBack) {
  const Value x = f32({3, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22});
  EXPECT_TENSOR(dynamic_slice(x, i64({2}, {1, 0}), {2, 2}),
                f32({2, 2}, {10, 11, 20, 21}));
  EXPECT_TENSOR(dynamic_slice(x, i64({2}, {-1, -2}), {1, 2}),
                f32({1, 2}, {21, 22}));
  EXPECT_TENSOR(dynamic_update_slice(x, f32({1, 2}, {7, 8}), i64({2}, {1, 1})),
                f32({3, 3}, {0, 1, 2, 10, 7, 8, 20, 21, 22}));
  // A slice of its own for each row.
  EXPECT_TENSOR(dynamic_slice(x, i64({3, 1}, {0, 1, -2}), {2}),
                f32({3, 2}, {0, 1, 11, 12, 21, 22}));
  EXPECT_TENSOR(x, f32({3, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22}));
}

TEST(DynamicSlice, IsRefusedRatherThanMovedInside) {
  const Value x = f32({4}, {0, 1, 2, 3});
  EXPECT_THROW(dynamic_slice(x, i64({1}, {2}), {3}), IndexError);
  EXPECT_THROW(dynamic_slice(x, i64({1}, {-2}), {3}), IndexError);
  const std::string text = message_of([&] {
    dynamic_update_slice(x, f32({3}, {1, 2, 3}), i64({1}, {2}));
  });
  EXPECT_NE(text.find("starts is 2 at [0], outside of an axis of 4 for 3 "
                      "elements"),
            text.npos)
      << text;
  EXPECT_NE(message_of([&] {
              dynamic_slice(x, i64({1}, {0}), {5});
            }).find("a slice of 5 does not fit into axis 0 of 4"),
            std::string::npos);
}

TEST(GatherNd, TakesRowsByTuples) {
  const Value x = f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_TENSOR(gather_nd(x, i64({2, 2}, {1, 0, 0, -1})),
                f32({2, 2}, {4, 5, 2, 3}));
  EXPECT_TENSOR(gather_nd(x, i64({3}, {1, 1, 0})), f32({}, {6}));
  EXPECT_TENSOR(gather_nd(x, i64({2, 1}, {1, 0}), 1),
                f32({2, 2}, {2, 3, 4, 5}));
  EXPECT_NE(message_of([&] {
              gather_nd(x, i64({1, 4}, {0, 0, 0, 0}));
            }).find("tuples of 4 indices do not name rows of 3 axes"),
            std::string::npos);
}

TEST(ScatterNd, TakesUpdatesInOrder) {
  const Value x = f32({4}, {1, 2, 3, 4});
  const Value rows = i64({4, 1}, {1, 3, 1, -2});
  const Value updates = f32({4}, {5, 6, 1, 0});
  EXPECT_TENSOR(scatter_nd(x, rows, updates), f32({4}, {1, 1, 0, 6}));
  EXPECT_TENSOR(scatter_nd(x, rows, updates, ScatterMode::kAdd),
                f32({4}, {1, 8, 3, 10}));
  EXPECT_TENSOR(scatter_nd(x, rows, updates, ScatterMode::kMax),
                f32({4}, {1, 5, 3, 6}));
  EXPECT_TENSOR(scatter_nd(x, rows, updates, ScatterMode::kMin),
                f32({4}, {1, 1, 0, 4}));
  EXPECT_TENSOR(scatter_nd(f32({2}, {kNaN, 1}), i64({2, 1}, {0, 1}),
                           f32({2}, {3, kNaN}), ScatterMode::kMax),
                f32({2}, {kNaN, kNaN}));
}

TEST(ScatterNd, GradientsOfRepeatedRows) {
  const Value x = f32({3}, {1, 5, 3});
  const Value rows = i64({3, 1}, {1, 1, 0});
  const Value updates = f32({3}, {5, 5, 0});
  const auto of_updates = [&](ScatterMode mode) {
    return gradient_of(updates, [&](const Value& each) {
      return scatter_nd(x, rows, each, mode);
    });
  };
  const auto of_x = [&](ScatterMode mode) {
    return gradient_of(x, [&](const Value& each) {
      return scatter_nd(each, rows, updates, mode);
    });
  };
  // The last one wins, and what it overwrites has no part in the result.
  EXPECT_TENSOR(of_updates(ScatterMode::kSet), f32({3}, {0, 1, 1}));
  EXPECT_TENSOR(of_x(ScatterMode::kSet), f32({3}, {0, 0, 1}));
  EXPECT_TENSOR(of_updates(ScatterMode::kAdd), f32({3}, {1, 1, 1}));
  EXPECT_TENSOR(of_x(ScatterMode::kAdd), f32({3}, {1, 1, 1}));
  // Three that are equal share.
  const float third = 1.0f / 3;
  EXPECT_TENSOR(of_updates(ScatterMode::kMax), f32({3}, {third, third, 0}));
  EXPECT_TENSOR(of_x(ScatterMode::kMax), f32({3}, {1, third, 1}));
  EXPECT_TENSOR(of_updates(ScatterMode::kMin), f32({3}, {third, third, 1}));
}

TEST(ScatterNd, RefusesWhatDoesNotFit) {
  const Value x = f32({3}, {1, 5, 3});
  EXPECT_NE(message_of([&] {
              scatter_nd(x, i64({2, 1}, {0, 1}), f32({3}, {0, 0, 0}));
            }).find("updates must be f32[2]"),
            std::string::npos);
  const std::string text = message_of([&] {
    scatter_nd(f32({2, 3}, {0, 0, 0, 0, 0, 0}), i64({2, 2}, {0, 2, 1, 3}),
               f32({2}, {0, 0}));
  });
  EXPECT_NE(text.find("indices is 3 at [1, 1], outside of an axis of 3"),
            text.npos)
      << text;
  EXPECT_NE(message_of([&] {
              scatter_nd(boolean({1}, {true}), i64({1, 1}, {0}),
                         boolean({1}, {true}), ScatterMode::kAdd);
            }).find("bools have no add"),
            std::string::npos);
}

TEST(PutAlongAxis, WritesWhereAPickReads) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TENSOR(put_along_axis(x, i64({2, 1}, {2, -3}), f32({}, {9})),
                f32({2, 3}, {1, 2, 9, 9, 5, 6}));
  EXPECT_TENSOR(put_along_axis(x, i64({1, 3}, {1, 0, 1}),
                               f32({3}, {10, 20, 30}), 0, ScatterMode::kAdd),
                f32({2, 3}, {1, 22, 3, 14, 5, 36}));
  // Indices of one row stand for all.
  EXPECT_TENSOR(put_along_axis(x, i64({1, 2}, {0, 2}), f32({2, 1}, {7, 8})),
                f32({2, 3}, {7, 2, 7, 8, 5, 8}));
  const Value none = put_along_axis(x, i64({2, 0}, {}), f32({}, {9}));
  EXPECT_TENSOR(none, x);
  EXPECT_NE(message_of([&] {
              put_along_axis(x, i64({2}, {0, 0}), f32({}, {9}));
            }).find("x has 2 axes, but indices 1"),
            std::string::npos);
}

TEST(Pick, AlongAnyAxis) {
  const Value x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TENSOR(pick(x, i64({3}, {1, 0, -1}), 0), f32({3}, {4, 2, 6}));
  EXPECT_TENSOR(pick(x, i64({1, 3}, {1, 0, 1}), 0), f32({1, 3}, {4, 2, 6}));
  EXPECT_TENSOR(
      pick_scatter(f32({3}, {1, 2, 3}), i64({3}, {1, 0, 1}), 2, false, 0),
      f32({2, 3}, {0, 2, 0, 1, 0, 3}));
  EXPECT_NE(message_of([&] {
              pick(x, i64({2}, {0, 0}), 0);
            }).find("indices must have the axes of x beside axis 0"),
            std::string::npos);
}

TEST(Order, AlongAnyAxis) {
  const Value x = f32({3, 2}, {2, 4, 3, 4, 1, 5});
  const auto [up, from] = sort(x, false, 0);
  EXPECT_TENSOR(up, f32({3, 2}, {1, 4, 2, 4, 3, 5}));
  EXPECT_TENSOR(from, i64({3, 2}, {2, 0, 0, 1, 1, 2}));
  const auto [values, places] = top_k(x, 1, 0);
  EXPECT_TENSOR(values, f32({1, 2}, {3, 5}));
  EXPECT_TENSOR(places, i64({1, 2}, {1, 2}));
}

// What may overwrite its operand touches only what it changes: nothing of the
// operand's size lies anywhere else.
TEST(Updates, HappenInPlace) {
  const std::vector<std::function<Value(const Value&, const Value&)>> updates{
      [](const Value& x, const Value& i) {
        return dynamic_update_slice(x, full({DType::kF32, {1, 5}}, 7), i);
      },
      [](const Value& x, const Value& i) {
        return scatter_nd(x, i, full({DType::kF32, {}}, 7));
      },
      [](const Value& x, const Value& i) {
        return scatter_nd(x, i, full({DType::kF32, {}}, 7), ScatterMode::kMax);
      }};
  for (const auto& update : updates) {
    FunctionBuilder builder("f");
    const Value x = builder.parameter({DType::kF32, {1000, 100}}, "x");
    const Value i = builder.parameter({DType::kI64, {2}}, "i");
    Executable executable(
        builder.build([&] { return std::vector{update(x, i)}; }),
        {.donated = {{0, 0}}});
    const std::vector<Tensor> arguments{
        Tensor::zeros({DType::kF32, {1000, 100}}),
        Tensor::of<std::int64_t>({2}, {3, 4})};
    EXPECT_LT(executable.plan_for(arguments).arena_bytes(), 4096u);
    const auto results = executable.run(arguments);
    EXPECT_TRUE(results[0].shares_memory_with(arguments[0]));
    EXPECT_EQ(arguments[0].item(304), 7);
    EXPECT_EQ(arguments[0].item(303), 0);
  }
}

TEST(Updates, TakeSymbolicSizes) {
  FunctionBuilder builder("f");
  const Dim n = symbol("N");
  const Value x = builder.parameter({DType::kF32, {n, 4}}, "x");
  const Value i = builder.parameter({DType::kI64, {n, 1}}, "i");
  Executable executable(builder.build([&] {
    const Value rows = gather_nd(x, i);
    return std::vector{scatter_nd(x, i, rows * 2.0, ScatterMode::kAdd),
                       dynamic_slice(x, i64({2}, {0, 1}), {n, 2}),
                       slice(x, {kToEnd, 0}, {kToEnd, 4}, {-1, 1})};
  }));
  for (const Dim size : {0, 1, 3}) {
    const Tensor ones =
        ones_like(Value(Tensor::zeros({DType::kF32, {size, 4}}))).tensor();
    const auto results = executable.run(
        std::array{ones, Tensor::zeros({DType::kI64, {size, 1}})});
    EXPECT_EQ(results[1].shape(), (Shape{size, 2}));
    EXPECT_EQ(results[2].shape(), (Shape{size, 4}));
    if (size == 0) continue;
    EXPECT_EQ(results[0].item(0), 1 + 2 * static_cast<double>(size));
  }
}

}  // namespace
}  // namespace weft::testing::indexing_test
