// Functions made faster by measured cost, and what is refused.
#include "weft/runtime/optimize.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/op_case.h"

#include "weft/graph/builder.h"
#include "weft/graph/program.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::optimize_test {
namespace {

// Two products of one row, a chain that merges well, for any batch.
Function two_products() {
  FunctionBuilder builder("f");
  return builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {symbol("N"), 48}}, "x");
    const Value w = builder.parameter({DType::kF32, {48, 32}}, "w");
    const Value v = builder.parameter({DType::kF32, {48, 32}}, "v");
    return std::vector{tanh(matmul(x, w)) * sigmoid(matmul(x, v))};
  });
}

Bindings batch_of(Dim size) {
  Bindings dims;
  dims.bind(symbol("N"), size);
  return dims;
}

std::vector<Tensor> arguments_for(const Function& function, Dim batch) {
  std::vector<Tensor> arguments;
  for (const ValueId id : function.parameters()) {
    const TensorType& type = function.type(id);
    arguments.push_back(testing::random_tensor(
        {.type = {type.dtype, substitute(type.shape, batch_of(batch))}},
        static_cast<std::uint64_t>(id)));
  }
  return arguments;
}

TEST(Optimize, ComputesTheSameForAnyBatch) {
  const Function function = two_products();
  const Optimized optimized =
      optimize(function, {false, true, true}, batch_of(4), {});
  verify(optimized.function);
  for (const Dim batch : {1, 4, 7}) {
    const auto arguments = arguments_for(function, batch);
    testing::expect_close(Executable(optimized.function).run(arguments)[0],
                          Executable(function).run(arguments)[0], 64);
  }
  EXPECT_LE(optimized.report.measured_after, optimized.report.measured_before);
  EXPECT_EQ(optimized.report.taken == "unchanged",
            optimized.report.steps.empty());
}

TEST(Optimize, RefusesWhatHasNoPlan) {
  const Function function = two_products();
  test::expect_error(ErrorCode::kUnsupported, {"f32[N, 48]"}, [&] {
    optimize(function, {false, false, false}, {}, {});
  });
}

TEST(Optimize, AnExecutableSearchesEachCombinationOfShapes) {
  const Function function = two_products();
  Executable plain(function);
  Executable searched(function, {.search = SearchOptions{.budget = 20}});
  for (const Dim batch : {2, 3}) {
    const auto arguments = arguments_for(function, batch);
    EXPECT_EQ(plain.optimize_report_for(arguments), nullptr);
    const OptimizeReport* report = searched.optimize_report_for(arguments);
    ASSERT_NE(report, nullptr);
    EXPECT_GT(report->tried, 0u);
    testing::expect_close(searched.run(arguments)[0], plain.run(arguments)[0],
                          64);
  }
}

// What changes from run to run stays where it is updated.
TEST(Optimize, KeepsDonatedArguments) {
  FunctionBuilder builder("step");
  const Function function = builder.build([&] {
    const Value w = builder.parameter({DType::kF32, {16, 8}}, "w");
    const Value x = builder.parameter({DType::kF32, {4, 16}}, "x");
    return std::vector{w - matmul(x, matmul(x, w), {.transpose_a = true})};
  });
  Executable searched(function,
                      {.donated = {{0, 0}}, .search = SearchOptions{}});
  const auto arguments = arguments_for(function, 1);
  const Tensor expected = Executable(function).run(arguments)[0];
  const Tensor w = arguments[0].clone();
  searched.run(std::vector{w, arguments[1]}, std::vector{w});
  testing::expect_close(w, expected, 64);
}

}  // namespace
}  // namespace weft::optimize_test
