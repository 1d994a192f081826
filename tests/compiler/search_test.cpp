// The search for cheaper functions, by costs that tests make up.
#include "weft/compiler/search.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/op_case.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/file.h"
#include "weft/compiler/structure.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::search_test {
namespace {

// A step takes a microsecond, and one more for each thousand of its flops.
MeasuredTime by_flops(const Function& function, const PlanStep& step,
                      const std::vector<OperandState>&) {
  double seconds = 1e-6;
  for (const NodeId id : step.nodes) {
    const Node& node = function.node(id);
    const auto inputs = function.input_types(node);
    const auto outputs = function.output_types(node);
    seconds +=
        1e-9 *
        node.op->cost()({*node.op, inputs, node.attributes, outputs}).flops;
  }
  return {seconds, seconds};
}

CostTable table(CostTable::Timer timer = by_flops) {
  return CostTable(TimesFile("", "", 2, 10), std::move(timer));
}

std::vector<bool> frozen_behind(const Function& function, std::size_t first) {
  std::vector<bool> frozen(function.parameters().size(), true);
  std::fill_n(frozen.begin(), first, false);
  return frozen;
}

SearchResult search_for(const Function& function, SearchOptions options = {},
                        CostTable::Timer timer = by_flops) {
  CostTable costs = table(std::move(timer));
  FunctionCosts function_costs(costs, {});
  return search(function, frozen_behind(function, 1), function_costs, options);
}

// conv3x3(x) + conv1x1(x), then a relu.
Function residual_example() {
  FunctionBuilder builder("f");
  return builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {1, 6, 6, 2}}, "x");
    const Value w = builder.parameter({DType::kF32, {3, 3, 2, 2}}, "w");
    const Value v = builder.parameter({DType::kF32, {1, 1, 2, 2}}, "v");
    return std::vector{
        relu(conv2d(x, w, {.padding = {1, 1, 1, 1}}) + conv2d(x, v))};
  });
}

TEST(Search, FindsTheResidualExampleOnlyWhereCostsMayRise) {
  // Three rows and columns take a little more than one, and each two channels
  // that come out as long as the others.
  const auto timer = [](const Function& function, const PlanStep& step,
                        const std::vector<OperandState>&) {
    const Node& node = function.node(step.nodes.back());
    double seconds = 1e-5;
    if (node.op->name() == "conv2d") {
      const Shape& window = function.type(node.inputs[1]).shape;
      seconds = (window[0] == 1 ? 0.97e-5 : 1e-5) *
                static_cast<double>(window[3]) / 2;
    }
    return MeasuredTime{seconds, seconds};
  };
  const Function start = residual_example();
  const SearchResult greedy = search_for(start, {.alpha = 1}, timer);
  // One convolution adds up where the other lies, which comes last: before the
  // others it would leave no two convolutions to be made one.
  ASSERT_EQ(greedy.taken.size(), 1u);
  EXPECT_EQ(greedy.taken[0].rule, "accumulate_residual");
  const SearchResult relaxed = search_for(start, {.alpha = 1.05}, timer);
  const auto convolutions = [](const Function& function) {
    return std::ranges::count_if(function.nodes(), [](const Node& node) {
      return node.op->name() == "conv2d";
    });
  };
  EXPECT_EQ(convolutions(relaxed.function), 1);
  ASSERT_EQ(relaxed.taken.size(), 2u);
  EXPECT_EQ(relaxed.taken[0].rule, "enlarge_kernel");
  EXPECT_LT(relaxed.taken[0].gain, 0);
  EXPECT_EQ(relaxed.taken[1].rule, "add_convolutions");
  EXPECT_NEAR(relaxed.after, 1e-5, 1e-9);
}

// x of ones, a kernel of ones and one of 2: 9 + 2 in the middle, 4 + 2 in the
// corners, whether there are two convolutions or one.
TEST(Search, KeepsTheNumbersOfTheResidualExample) {
  FunctionBuilder builder("f");
  const Function start = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {1, 3, 3, 1}}, "x");
    const Value w = builder.parameter({DType::kF32, {3, 3, 1, 1}}, "w");
    const Value v = builder.parameter({DType::kF32, {1, 1, 1, 1}}, "v");
    return std::vector{conv2d(x, w, {.padding = {1, 1, 1, 1}}) + conv2d(x, v)};
  });
  const SearchResult result = search_for(start, {.alpha = 10});
  ASSERT_FALSE(result.taken.empty());
  const auto filled = [](const Shape& shape, double value) {
    return full({DType::kF32, shape}, value).tensor();
  };
  const Tensor y =
      Executable(result.function)
          .run(std::vector{filled({1, 3, 3, 1}, 1), filled({3, 3, 1, 1}, 1),
                           filled({1, 1, 1, 1}, 2)})[0];
  EXPECT_EQ(y.data<float>()[4], 11);
  EXPECT_EQ(y.data<float>()[0], 6);
}

// Four gates, each a product with the state, as an LSTM's cell has them.
Function four_gates(Dim width) {
  FunctionBuilder builder("f");
  return builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {1, width}}, "x");
    std::vector<Value> results;
    for (int i = 0; i < 4; ++i) {
      const Value w = builder.parameter({DType::kF32, {width, width}},
                                        fmt::format("w{}", i));
      results.push_back(tanh(matmul(x, w)));
    }
    return results;
  });
}

TEST(Search, MergesTheGatesOfACell) {
  const SearchResult result = search_for(four_gates(8), {.alpha = 1.2});
  const auto products = std::ranges::count_if(
      result.function.nodes(),
      [](const Node& node) { return node.op->name() == "matmul"; });
  EXPECT_EQ(products, 1);
  EXPECT_LT(result.after, result.before);
}

TEST(Search, IsNeverWorseAndBetterWithMoreFreedom) {
  const Function start = four_gates(8);
  double before = search_for(start, {.alpha = 1}).before;
  for (const double alpha : {1.0, 1.01, 1.05, 1.1, 1.3}) {
    const SearchResult result = search_for(start, {.alpha = alpha});
    EXPECT_LE(result.after, before);
    before = result.after;
  }
  before = search_for(start).before;
  for (const int budget : {1, 2, 4, 100}) {
    const SearchResult result =
        search_for(start, {.alpha = 1.2, .budget = budget});
    EXPECT_LE(result.after, before);
    before = result.after;
  }
}

TEST(Search, IsTheSameForTheSameCosts) {
  const Function start = four_gates(8);
  const SearchResult one = search_for(start, {.alpha = 1.2});
  const SearchResult other = search_for(start, {.alpha = 1.2});
  EXPECT_EQ(to_string(one.function), to_string(other.function));
  EXPECT_EQ(one.expanded, other.expanded);
  EXPECT_EQ(one.tried, other.tried);
}

// Splits, concats and their likes undo each other; the search ends all the
// same, and no function is looked into twice.
TEST(Search, EndsWhereRulesUndoEachOther) {
  const SearchResult result =
      search_for(four_gates(4), {.alpha = 100, .budget = 200});
  EXPECT_LE(result.expanded, 200u);
  EXPECT_FALSE(result.is_out_of_time);
}

// A table that lies makes a function slow, never wrong.
TEST(Search, ComputesTheSameWhateverTheCosts) {
  std::mt19937 random(1);
  const auto lies = [&](const Function&, const PlanStep&,
                        const std::vector<OperandState>&) {
    const double seconds = 1e-6 * static_cast<double>(1 + random() % 1000);
    return MeasuredTime{seconds, seconds};
  };
  for (const Function& start : {four_gates(8), residual_example()}) {
    std::vector<Tensor> arguments;
    for (const ValueId id : start.parameters()) {
      arguments.push_back(testing::random_tensor(
          {.type = start.type(id)}, static_cast<std::uint64_t>(id)));
    }
    const std::vector<Tensor> expected = Executable(start).run(arguments);
    for (int round = 0; round < 20; ++round) {
      const SearchResult result =
          search_for(start, {.alpha = 3, .budget = 50}, lies);
      verify(result.function);
      const std::vector<Tensor> actual =
          Executable(result.function).run(arguments);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        testing::expect_close(actual[i], expected[i], 64);
      }
    }
  }
}

TEST(Search, SplitReachesTheSameCostWithLessSearch) {
  FunctionBuilder builder("f");
  const Function start = builder.build([&] {
    Value x = builder.parameter({DType::kF32, {1, 8}}, "x");
    for (int i = 0; i < 12; ++i) {
      const auto weights = [&](const char* name) {
        return builder.parameter({DType::kF32, {8, 8}},
                                 fmt::format("{}{}", name, i));
      };
      x = tanh(matmul(x, weights("a"))) * sigmoid(matmul(x, weights("b")));
    }
    return std::vector{x};
  });
  const SearchResult whole =
      search_for(start, {.alpha = 1.05, .budget = 1000, .is_split = false});
  const SearchResult parts =
      search_for(start, {.alpha = 1.05, .budget = 1000, .part_nodes = 12});
  EXPECT_GT(parts.parts, 1u);
  EXPECT_LE(parts.after, 1.02 * whole.after);
  EXPECT_LT(5 * parts.tried, whole.tried);
}

// 20,000 nodes of 100 kinds of layers: most of the time goes into what is
// priced, and equal parts are searched once.
TEST(Search, EndsInTimeForAGraphOfTwentyThousandNodes) {
  FunctionBuilder builder("f");
  const Function start = builder.build([&] {
    Value x = builder.parameter({DType::kF32, {1, 8}}, "x");
    std::vector<Value> weights;
    for (int i = 0; i < 200; ++i) {
      weights.push_back(
          builder.parameter({DType::kF32, {8, 8}}, fmt::format("w{}", i)));
    }
    for (std::size_t i = 0; i < 4000; ++i) {
      const Value& a = weights[2 * i % 200];
      const Value& b = weights[(2 * i + 1) % 200];
      x = tanh(matmul(x, a)) * sigmoid(matmul(x, b));
    }
    return std::vector{x};
  });
  ASSERT_GE(start.nodes().size(), 20000u);
  const SearchResult result =
      search_for(start, {.alpha = 1.05, .budget = 20, .seconds = 10});
  verify(result.function);
  EXPECT_LE(result.after, result.before);
  EXPECT_GT(result.parts, 500u);
}

TEST(Search, KeepsALimitOfMemory) {
  const Function start = four_gates(8);
  CostTable costs = table();
  FunctionCosts function_costs(costs, {});
  const auto frozen = frozen_behind(start, 1);
  SearchOptions options{.alpha = 1.2};
  const std::size_t need = function_costs.cost(start, frozen).arena_bytes;
  options.objective.arena_limit = need;
  const SearchResult result = search(start, frozen, function_costs, options);
  EXPECT_LE(function_costs.cost(result.function, frozen).arena_bytes, need);
}

TEST(Search, RefusesOptionsOutOfRange) {
  const Function start = four_gates(4);
  test::expect_error(ErrorCode::kInvalidArgument, {"alpha"},
                     [&] { search_for(start, {.alpha = 0.9}); });
  test::expect_error(ErrorCode::kInvalidArgument, {"budget"},
                     [&] { search_for(start, {.budget = 0}); });
  test::expect_error(
      ErrorCode::kInvalidArgument, {"merge_product", "merge_products"},
      [&] { search_for(start, {.without = {"merge_product"}}); });
}

// What is priced is what a plan of the function with its weights would run: two
// products of weights of one type are two, and a cell of separate ops is one
// op.
TEST(FunctionCosts, PriceWhatAPlanWithWeightsRuns) {
  std::vector<std::string> steps;
  const auto note = [&](const Function& function, const PlanStep& step,
                        const std::vector<OperandState>& states) {
    steps.push_back(function.node(step.nodes.back()).op->name());
    if (steps.back() == "matmul") {
      EXPECT_FALSE(states[0].is_known);
      EXPECT_TRUE(states[1].is_known);
    }
    return MeasuredTime{1e-6, 1e-6};
  };
  CostTable costs = table(note);
  FunctionCosts function_costs(costs, {});
  FunctionBuilder two("two");
  const TensorType matrix{DType::kF32, {8, 8}};
  const Value x = two.parameter({DType::kF32, {1, 8}}, "x");
  const Value w = two.parameter(matrix, "w");
  const Value v = two.parameter(matrix, "v");
  const Function products = two.build([&] {
    return std::vector{tanh(matmul(x, w)), sigmoid(matmul(x, v))};
  });
  const double launches =
      function_costs.cost(products, frozen_behind(products, 1)).total.launches;
  EXPECT_EQ(launches, 4);
  EXPECT_EQ(std::ranges::count(steps, "matmul"), 1);  // the second has its time

  FunctionBuilder builder("cell");
  const auto state = [&](const char* name) {
    return builder.parameter({DType::kF32, {1, 8}}, name);
  };
  const Value input = state("x");
  const Value h = state("h");
  const Value c = state("c");
  const Value w_ih = builder.parameter({DType::kF32, {8, 32}}, "w_ih");
  const Value w_hh = builder.parameter({DType::kF32, {8, 32}}, "w_hh");
  const Function cell = builder.build([&] {
    const auto gates = split(matmul(input, w_ih) + matmul(h, w_hh),
                             std::vector<Dim>{8, 8, 8, 8}, 1);
    const Value next =
        sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
    return std::vector{sigmoid(gates[3]) * tanh(next), next};
  });
  steps.clear();
  function_costs.cost(cell, frozen_behind(cell, 3));
  EXPECT_EQ(steps, std::vector<std::string>{"lstm"});
}

// Where a plan restructures batch norm, chunks are priced as they run.
TEST(FunctionCosts, PriceChunksOfBatchNorm) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {8, 6, 6, 4}}, "x");
  const Value w = builder.parameter({DType::kF32, {3, 3, 4, 4}}, "w");
  const Value s = builder.parameter({DType::kF32, {4}}, "s");
  const Function function = builder.build([&] {
    const auto [y, mean, variance] = batch_norm(conv2d(x, w), s, s, 1e-3);
    return std::vector{conv2d(relu(y), w), mean, variance};
  });
  const auto chunked = [&](BatchNormForm form) {
    int count = 0;
    const auto timer = [&](const Function& f, const PlanStep& step,
                           const std::vector<OperandState>& states) {
      if (!step.parts.empty()) ++count;
      // They run, as what has one part does.
      return time_step(f, step, states);
    };
    CostTable costs = table(timer);
    FunctionCosts function_costs(costs, {.batch_norm = form});
    function_costs.cost(function, std::vector<bool>(3));
    return count;
  };
  EXPECT_EQ(chunked(BatchNormForm::kMvf), 0);
  EXPECT_GT(chunked(BatchNormForm::kIcf), 0);
}

TEST(CostTable, GoesOnWhereItCanKeepNothing) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "no folder";
  write_file(file, "");
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {4}}, "x");
    return std::vector{exp(x)};
  });
  const std::vector<PlanStep> steps = form_steps(function, true);
  CostTable costs(TimesFile(file / "times.txt", "machine", 2, 100), by_flops);
  const std::vector<OperandState> states(1);
  const double seconds = costs.cost(function, steps[0], states).seconds;
  ::testing::internal::CaptureStderr();
  costs.keep();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("step times"),
            std::string::npos);
  EXPECT_EQ(costs.cost(function, steps[0], states).seconds, seconds);
}

TEST(CostTable, KeepsWhatItTimedAndIgnoresDamage) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "steps.txt";
  int count = 0;
  const auto timer = [&](const Function&, const PlanStep&,
                         const std::vector<OperandState>&) {
    ++count;
    return MeasuredTime{2e-6, 1e-6};
  };
  const Function start = four_gates(8);
  const auto cost = [&] {
    CostTable costs(TimesFile(path, "machine", 2, 100), timer);
    FunctionCosts function_costs(costs, {});
    const double seconds =
        function_costs.cost(start, frozen_behind(start, 1)).total.seconds;
    costs.keep();
    return seconds;
  };
  EXPECT_NEAR(cost(), 4 * 1e-6 + 4 * 1e-6, 2e-6);
  const int timed = count;
  EXPECT_GT(timed, 0);
  const double again = cost();
  EXPECT_EQ(count, timed);
  EXPECT_EQ(again, cost());
  write_file(path, "another machine\n");
  cost();
  EXPECT_EQ(count, 2 * timed);
}

}  // namespace
}  // namespace weft::search_test
