// Who looks at indices, and when: eager calls always, plans at what comes in
// from outside, and at everything with check_numerics.
#include "weft/graph/index_check.h"

#include <gtest/gtest.h>

#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/runtime/jit/jit.h"

namespace weft::index_check_test {
namespace {

const Tensor kTable = Tensor::of<float>({3, 2}, {0, 1, 10, 11, 20, 21});

Tensor indices(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<Dim>(values.size())}, values);
}

// Expects an IndexError that says all of `words`.
template <class Body>
void expect_refused(Body&& body, const std::vector<std::string>& words) {
  try {
    body();
    FAIL() << "nothing was thrown";
  } catch (const IndexError& error) {
    const std::string what = error.what();
    for (const std::string& word : words) {
      EXPECT_NE(what.find(word), what.npos) << what;
    }
  }
}

TEST(IndexCheck, EagerCallsNameOpOperandValueAndPlace) {
  const Tensor wrong = Tensor::of<std::int32_t>({2, 2}, {0, 1, -4, 2});
  expect_refused([&] { gather(Value(kTable), Value(wrong)); },
                 {"gather", "indices is -4 at [1, 0]", "axis of 3",
                  "it may be -3 to 2", "index_check_test.cpp"});
  expect_refused(
      [&] {
        const Value logits = Tensor::zeros({DType::kF32, {2, 5}});
        cross_entropy(logits, Value(indices({0, -1})));
      },
      {"cross_entropy", "labels is -1 at [1]", "it may be 0 to 4"});
  EXPECT_EQ(gather(Value(kTable), Value(indices({-1}))).tensor().item(1), 21);
}

Function gather_of(const std::function<Value(const Value&)>& make_index) {
  FunctionBuilder builder("f");
  return builder.build([&] {
    const Value table = builder.parameter({DType::kF32, {3, 2}}, "table");
    const Value at = builder.parameter({DType::kI64, {2}}, "at");
    const Value doubled = table * 2.0;
    const Value row = gather(table, make_index(at));
    return std::vector{doubled, row};
  });
}

TEST(IndexCheck, ArgumentsAreRefusedBeforeAnythingIsOverwritten) {
  const Function function = gather_of([](const Value& at) {
    return reshape(at, {1, 2});
  });
  Executable executable(function, {.donated = {{0, 0}}});
  const Tensor table = kTable.clone();
  expect_refused(
      [&] {
        executable.run(std::array{table, indices({1, 3})});
      },
      {"gather", "is 3 at [0, 1]", "node: "});
  EXPECT_TRUE(identical(table, kTable));
  const auto results = executable.run(std::array{table, indices({1, -1})});
  EXPECT_EQ(results[1].item(3), 21);
}

TEST(IndexCheck, ComputedIndicesAreClampedOrCheckedOnDemand) {
  const Function function = gather_of([](const Value& at) { return at + 2.0; });
  Executable plain(function);
  const auto results = plain.run(std::array{kTable, indices({0, 5})});
  EXPECT_EQ(results[1].item(2), 20);  // the last row
  Executable checked(function, {.donated = {}, .check_numerics = true});
  expect_refused(
      [&] {
        checked.run(std::array{kTable, indices({0, 5})});
      },
      {"gather", "is 7 at [1]", "node: ", "index_check_test.cpp"});
  EXPECT_EQ(checked.run(std::array{kTable, indices({0, -1})})[1].item(3), 11);
}

TEST(IndexCheck, ConstantsAreRefusedWhenTheyArePlanned) {
  const Function function = gather_of([](const Value&) {
    return Value(indices({0, 3}));
  });
  Executable executable(function);
  expect_refused(
      [&] {
        executable.run(std::array{kTable, indices({0, 0})});
      },
      {"gather", "is 3 at [1]"});
}

// Indices of several axes come together from several arguments.
TEST(IndexCheck, ArgumentsAreFoundBehindWhatMovesThem) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {3, 2}}, "x");
  const Value rows = builder.parameter({DType::kI64, {2, 1}}, "rows");
  const Value columns = builder.parameter({DType::kI32, {4}}, "columns");
  Executable executable(builder.build([&] {
    const auto spread = [](const Value& i) {
      return reshape(broadcast_to(i, {2, 4}), {2, 4, 1});
    };
    const std::vector<Value> tuples{spread(rows),
                                    spread(cast(columns, DType::kI64))};
    return std::vector{gather_nd(x, concat(tuples, -1))};
  }));
  const auto run = [&](std::int64_t row, std::int32_t column) {
    return executable.run(
        std::array{kTable, Tensor::of<std::int64_t>({2, 1}, {0, row}),
                   Tensor::of<std::int32_t>({4}, {0, 0, 0, column})});
  };
  EXPECT_EQ(run(-1, 1)[0].item(7), 21);
  expect_refused([&] { run(3, 0); },
                 {"gather_nd", "is 3 at [1, 0]", "axis of 3", "i64[2, 1]"});
  expect_refused([&] { run(0, -3); },
                 {"gather_nd", "is -3 at [3]", "axis of 2", "i32[4]"});
}

TEST(IndexCheck, StartsAreLookedAtWithTheirSizes) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {3, 2}}, "x");
  const Value starts = builder.parameter({DType::kI64, {2}}, "starts");
  Executable executable(builder.build([&] {
    return std::vector{dynamic_slice(x, starts, {2, 2})};
  }));
  EXPECT_EQ(executable.run(std::array{kTable, indices({-2, 0})})[0].item(0),
            10);
  expect_refused(
      [&] {
        executable.run(std::array{kTable, indices({2, 0})});
      },
      {"dynamic_slice", "starts is 2 at [0]", "axis of 3 for 2 elements",
       "it may be 0 to 1"});
}

TEST(IndexCheck, BranchesLookAtWhatReachesThem) {
  const auto staged = jit([](const Value& table, const Value& at) {
    return cond(
        less(sum(at), Value(Tensor::scalar<std::int64_t>(100))),
        [&] { return std::vector{gather(table, at)}; },
        [&] { return std::vector{gather(table, at - at)}; })[0];
  });
  EXPECT_EQ(staged(kTable, indices({-1, 0})).tensor().item(0), 20);
  expect_refused(
      [&] {
        staged(kTable, indices({0, 3}));
      },
      {"gather", "is 3 at [1]"});
  // Not in the branch that is taken.
  EXPECT_EQ(staged(kTable, indices({0, 300})).tensor().item(0), 0);
}

}  // namespace
}  // namespace weft::index_check_test
