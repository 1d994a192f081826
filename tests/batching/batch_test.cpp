// What the batched function looks like: which products it has, what it leaves
// out, which symbol counts the instances, and what it refuses.
#include <array>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/single_runs.h"
#include "tests/support/values.h"

#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/tensor/symbol.h"

namespace weft::testing::batch_test {
namespace {

using test::expect_error;
using test::pattern;

constexpr auto kStack = BatchMode::kStack;
constexpr auto kSum = BatchMode::kSum;

Function parse(std::string_view text) {
  return parse_graph(text).functions.front();
}

// y = x w for rows x: [m, k], and the gradient of w.
Function layer(Dim m, Dim k, Dim n) {
  return parse(fmt::format(
      "func @layer(%0 \"x\": f32[{0}, {1}], %1 \"w\": f32[{1}, {2}],"
      " %2 \"dy\": f32[{0}, {2}]) -> (f32[{0}, {2}], f32[{1}, {2}]) {{\n"
      "  %3 = matmul(%0, %1) : f32[{0}, {2}]\n"
      "  %4 = matmul(%0, %2) {{transpose_a = true}} : f32[{1}, {2}]\n"
      "  return %3, %4\n"
      "}}\n",
      m, k, n));
}

// Whether any value of the function has this type.
bool has_type(const Function& function, const std::string& type) {
  for (std::size_t i = 0; i < function.value_count(); ++i) {
    if (to_string(function.type(static_cast<ValueId>(i))) == type) return true;
  }
  return false;
}

TEST(Batch, RowsOfAllInstancesAreOneProduct) {
  const Batched all = batch(layer(2, 5, 3), std::array{true, false, true},
                            std::array{kStack, kSum});
  EXPECT_EQ(to_string(all.function),
            "func @layer_batched(%0 \"x\": f32[B, 2, 5], %1 \"w\": f32[5, 3],"
            " %2 \"dy\": f32[B, 2, 3]) -> (f32[B, 2, 3], f32[5, 3]) {\n"
            "  %3 = matmul(%0, %1) {transpose_a = false, transpose_b = false,"
            " activation = \"none\"} : f32[B, 2, 3]\n"
            "  %4 = reshape(%0) {shape = shape[2*B, 5]} : f32[2*B, 5]\n"
            "  %5 = reshape(%2) {shape = shape[2*B, 3]} : f32[2*B, 3]\n"
            "  %6 = matmul(%4, %5) {transpose_a = true, transpose_b = false,"
            " activation = \"none\"} : f32[5, 3]\n"
            "  return %3, %6\n"
            "}\n");
  EXPECT_EQ(all.is_stacked, (std::vector{true, false}));
  EXPECT_EQ(to_string(all.size), "B");
}

TEST(Batch, OneInstanceAndManyEqualSingleRuns) {
  for (const Dim instances : {1, 2, 300}) {
    expect_equals_single_runs(layer(1, 5, 3), std::array{true, false, true},
                              std::array{kStack, kSum},
                              {pattern({instances, 1, 5}), pattern({5, 3}),
                               pattern({instances, 1, 3}, -1, 1, 2)},
                              5);
  }
}

TEST(Batch, ColumnsAgainstASharedMatrixAreOneProduct) {
  const Function function = parse(
      "func @f(%0: f32[4, 5], %1: f32[5, 1]) -> (f32[4, 1]) {\n"
      "  %2 = matmul(%0, %1) : f32[4, 1]\n"
      "  return %2\n"
      "}\n");
  const std::array batched = {false, true};
  const Batched all = batch(function, batched);
  ASSERT_EQ(count_of(all.function, "matmul"), 1u);
  EXPECT_TRUE(has_type(all.function, "f32[B, 4]"));
  expect_equals_single_runs(function, batched, {},
                            {pattern({4, 5}), pattern({7, 5, 1})}, 5);
}

TEST(Batch, OnlyTheBiasOfAProductMayDiffer) {
  const Function function = parse(
      "func @f(%0: f32[4, 5], %1: f32[5, 1], %2: f32[1]) -> (f32[4, 1]) {\n"
      "  %3 = matmul(%0, %1, %2) {activation = \"relu\"} : f32[4, 1]\n"
      "  return %3\n"
      "}\n");
  expect_equals_single_runs(function, std::array{false, false, true}, {},
                            {pattern({4, 5}), pattern({5, 1}), pattern({7, 1})},
                            5);
}

TEST(Batch, TheGradientOfASharedMatrixIsNeverStacked) {
  for (const Dim m : {1, 2}) {
    const Batched all = batch(layer(m, 5, 3), std::array{true, false, true},
                              std::array{kSum, kSum});
    EXPECT_EQ(count_of(all.function, "matmul"), 2u);
    EXPECT_EQ(count_of(all.function, "sum"), 1u);  // of x, before its product
    EXPECT_FALSE(has_type(all.function, "f32[B, 5, 3]"));
  }
  // Stacked, it is a product for each instance.
  const Batched stacked = batch(layer(2, 5, 3), std::array{true, false, true});
  EXPECT_TRUE(has_type(stacked.function, "f32[B, 5, 3]"));
}

// Contributions of two uses of one matrix, scaled, cut and put together.
TEST(Batch, SumsPassThroughLinearOps) {
  const Function function = parse(
      "func @f(%0: f32[1, 4], %1: f32[1, 6], %2: f32[1, 6])"
      " -> (f32[8, 3]) {\n"
      "  %3 = matmul(%0, %1) {transpose_a = true} : f32[4, 6]\n"
      "  %4 = matmul(%0, %2) {transpose_a = true} : f32[4, 6]\n"
      "  %5 = add(%3, %4) : f32[4, 6]\n"
      "  %6 = full() {shape = shape[6], value = 0.5} : f32[6]\n"
      "  %7 = multiply(%6, %5) : f32[4, 6]\n"
      "  %8 = slice(%7) {begin = [0, 1], end = [4, 4]} : f32[4, 3]\n"
      "  %9 = transpose(%8) : f32[3, 4]\n"
      "  %10 = transpose(%9) : f32[4, 3]\n"
      "  %11 = concat(%8, %10) {axis = 0} : f32[8, 3]\n"
      "  return %11\n"
      "}\n");
  const std::array batched = {true, true, true};
  const Batched all = batch(function, batched, std::array{kSum});
  EXPECT_EQ(count_of(all.function, "matmul"), 2u);
  EXPECT_EQ(count_of(all.function, "sum"), 0u);
  EXPECT_FALSE(has_type(all.function, "f32[B, 4, 6]"));
  expect_equals_single_runs(function, batched, std::array{kSum},
                            {pattern({9, 1, 4}), pattern({9, 1, 6}, -1, 1, 2),
                             pattern({9, 1, 6}, -1, 1, 3)},
                            4);
}

TEST(Batch, ASharedPartOfASumCountsOncePerInstance) {
  const Function function = parse(
      "func @f(%0: f32[3], %1: f32[3]) -> (f32[3], f32[3]) {\n"
      "  %2 = add(%0, %1) : f32[3]\n"
      "  return %2, %1\n"
      "}\n");
  expect_equals_single_runs(function, std::array{true, false},
                            std::array{kSum, kSum},
                            {pattern({5, 3}), pattern({3})});
}

TEST(Batch, TheGradientOfABiasIsOneReduction) {
  const Function function = parse(
      "func @f(%0: f32[2, 3]) -> (f32[3]) {\n"
      "  %1 = sum(%0) {axes = [0], keep_dims = true} : f32[1, 3]\n"
      "  %2 = reshape(%1) {shape = shape[3]} : f32[3]\n"
      "  return %2\n"
      "}\n");
  const Batched all = batch(function, std::array{true}, std::array{kSum});
  EXPECT_EQ(count_of(all.function, "sum"), 1u);
  EXPECT_FALSE(has_type(all.function, "f32[B, 3]"));
}

TEST(Batch, TheGradientOfAnEmbeddingIsOneScatter) {
  const Function function = parse(
      "func @f(%0: f32[2, 3], %1: i32[2]) -> (f32[7, 3]) {\n"
      "  %2 = scatter_add(%0, %1) {size = shape[7], axis = 0} : f32[7, 3]\n"
      "  return %2\n"
      "}\n");
  const Batched all = batch(function, std::array{true, true}, std::array{kSum});
  ASSERT_EQ(all.function.nodes().size(), 1u);
  EXPECT_EQ(all.function.nodes()[0].op->name(), "scatter_add");
}

TEST(Batch, IndicesStayInTheirInstance) {
  const Function function = parse(
      "func @f(%0: f32[2, 1], %1: i64[3]) -> (f32[3, 1]) {\n"
      "  %2 = gather(%0, %1) {axis = 0} : f32[3, 1]\n"
      "  return %2\n"
      "}\n");
  const Tensor tables = Tensor::of<float>({2, 2, 1}, {1, 2, 3, 4});
  const Tensor far = Tensor::of<std::int64_t>({2, 3}, {-2, 1, 0, 1, 0, -1});
  expect_equals_single_runs(function, std::array{true, true}, {},
                            {tables, far});
}

TEST(Batch, WhatIsSharedIsComputedOnce) {
  const Function function = parse(
      "func @f(%0: f32[2, 3], %1: f32[2, 3]) -> (f32[2, 3], f32[2, 3]) {\n"
      "  %2 = exp(%1) : f32[2, 3]\n"
      "  %3 = multiply(%0, %2) : f32[2, 3]\n"
      "  return %3, %2\n"
      "}\n");
  const Batched all = batch(function, std::array{true, false});
  EXPECT_EQ(all.is_stacked, (std::vector{true, false}));
  EXPECT_TRUE(has_type(all.function, "f32[B, 2, 3]"));
  EXPECT_EQ(to_string(all.function.type(all.function.results()[1])),
            "f32[2, 3]");
  // A shared key draws what each instance would have drawn.
  const Function dropout = parse(
      "func @f(%0: f32[2, 3], %1: i64[2]) -> (f32[2, 3]) {\n"
      "  %2 = dropout(%0, %1) {stream = 1, rate = 0.5} : f32[2, 3]\n"
      "  return %2\n"
      "}\n");
  expect_equals_single_runs(
      dropout, std::array{true, false}, {},
      {pattern({4, 2, 3}), Tensor::of<std::int64_t>({2}, {3, 4})});
}

TEST(Batch, DimsMayBeSymbolicAndTakeTheNameB) {
  const Function function = parse(
      "func @f(%0: f32[B, 4], %1: f32[4, 3]) -> (f32[B, 3], f32[4]) {\n"
      "  %2 = matmul(%0, %1) : f32[B, 3]\n"
      "  %3 = softmax(%2) : f32[B, 3]\n"
      "  %4 = sum(%0) {axes = [0]} : f32[4]\n"
      "  return %3, %4\n"
      "}\n");
  const std::array batched = {true, false};
  const Batched all = batch(function, batched, std::array{kStack, kSum});
  EXPECT_EQ(to_string(all.size), "B1");
  EXPECT_EQ(to_string(all.function.type(all.function.results()[0])),
            "f32[B1, B, 3]");
  // Batched again, it has two batch axes.
  const Batched twice = batch(all.function, batched);
  EXPECT_EQ(to_string(twice.function.type(twice.function.results()[0])),
            "f32[B2, B1, B, 3]");
  expect_equals_single_runs(specialize(function,
                                       [] {
                                         Bindings bindings;
                                         bindings.bind(symbol("B"), 2);
                                         return bindings;
                                       }()),
                            batched, std::array{kStack, kSum},
                            {pattern({6, 2, 4}), pattern({4, 3})}, 4);
}

TEST(Batch, OnlyWhatResultsNeedHasToBeBatched) {
  const Function function = parse(
      "func @f(%0: i64[2], %1: f32[2]) -> (f32[2]) {\n"
      "  %2 = uniform(%0) {shape = shape[2], stream = 1} : f32[2]\n"
      "  %3 = negate(%1) : f32[2]\n"
      "  return %3\n"
      "}\n");
  const Batched all = batch(function, std::array{true, true});
  EXPECT_EQ(all.function.nodes().size(), 1u);
}

// Deep enough that recursion over the nodes would leave the stack.
TEST(Batch, TakesLongChains) {
  const auto batched_chain = [](Value (*step)(const Value& y, const Value& x)) {
    FunctionBuilder builder("chain");
    const Value x = builder.parameter({DType::kF32, {2}});
    const Function chain = builder.build([&] {
      Value y = x;
      for (int i = 0; i < 30000; ++i) y = step(y, x);
      return std::vector{y};
    });
    return batch(chain, std::array{true}, std::array{kSum}).function;
  };
  const Function stacked =
      batched_chain([](const Value& y, const Value&) { return tanh(y); });
  EXPECT_EQ(stacked.nodes().size(), 30001u);
  const Function summed =
      batched_chain([](const Value& y, const Value& x) { return y + x; });
  EXPECT_EQ(count_of(summed, "add"), 30000u);
  EXPECT_EQ(count_of(summed, "sum"), 2u);  // of x, and where sums begin
}

TEST(Batch, SaysWhichOpItCannotBatch) {
  const Function function = parse(
      "func @f(%0: f32[2]) -> (f32[2]) {\n"
      "  %1 = all_reduce(%0) {group_size = 2, groups = [0, 1]} : f32[2]\n"
      "  return %1\n"
      "}\n");
  expect_error(ErrorCode::kUnsupported,
               {"all_reduce", "no batching rule", "%1 = all_reduce(%0)"},
               [&] { batch(function, std::array{true}); });
  const Function wide = parse(
      "func @f(%0: f32[], %1: f32[1, 1, 1, 1, 1, 1, 1, 2])"
      " -> (f32[1, 1, 1, 1, 1, 1, 1, 2]) {\n"
      "  %2 = add(%0, %1) : f32[1, 1, 1, 1, 1, 1, 1, 2]\n"
      "  return %2\n"
      "}\n");
  expect_error(ErrorCode::kUnsupported, {"8 dims", "%2 = add(%0, %1)"}, [&] {
    batch(wide, std::array{true, false});
  });
}

TEST(Batch, RefusesListsThatDoNotFit) {
  const Function function = layer(1, 2, 3);
  expect_error(ErrorCode::kInvalidArgument, {"@layer", "3 parameters", "1"},
               [&] { batch(function, std::array{true}); });
  expect_error(ErrorCode::kInvalidArgument, {"@layer", "2 results", "1"}, [&] {
    batch(function, std::array{true, true, true}, std::array{kSum});
  });
  expect_error(ErrorCode::kInvalidArgument, {"no parameter", "how many"}, [&] {
    batch(function, std::array{false, false, false});
  });
}

}  // namespace
}  // namespace weft::testing::batch_test
