#include "weft/ops/collective.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"

#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/executable.h"
#include "weft/tensor/symbol.h"

namespace weft::testing::collective_test {
namespace {

using test::expect_error;

// Two ranks, of which the other one always has the same tensors: rank 0.
class Twins : public Collectives {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(const TensorView& whole, const RankGroups&) override {
    ++calls;
    if (calls > most_calls) {
      throw Error(ErrorCode::kUnavailable, "rank 1", "is no more");
    }
    for (std::int64_t i = 0; i < whole.size(); ++i) whole.as<float>()[i] *= 2;
  }
  void reduce_scatter(const TensorView& whole,
                      const RankGroups& groups) override {
    all_reduce(whole, groups);
  }
  void all_gather(const TensorView& whole, const RankGroups&) override {
    ++calls;
    const std::int64_t part = whole.size() / 2;
    std::copy_n(whole.as<float>(), part, whole.as<float>() + part);
  }

  int calls = 0;
  int most_calls = 100;
};

const RankGroups kBoth = RankGroups::whole(2);

Function sum_of_relu() {
  FunctionBuilder builder("f");
  return builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {2}}, "x");
    const Value y = relu(x);
    return std::vector{y, all_reduce(y, kBoth), all_reduce(y + y, kBoth)};
  });
}

// Which results were told.
class Told : public RunObserver {
 public:
  void on_result(std::size_t index) override { results.push_back(index); }
  std::vector<std::size_t> results;
};

TEST(Collective, RunsEagerlyOnTheCurrentNetwork) {
  Twins twins;
  CollectivesScope scope(twins);
  const Value x = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_TENSOR(all_reduce(x, kBoth), f32({2, 2}, {2, 4, 6, 8}));
  EXPECT_TENSOR(reduce_scatter(x, kBoth), f32({1, 2}, {2, 4}));
  EXPECT_TENSOR(all_gather(x, kBoth), f32({4, 2}, {1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_TENSOR(x, f32({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(twins.calls, 3);
}

TEST(Collective, RunsInAPlanOnTheCurrentNetwork) {
  Twins twins;
  CollectivesScope scope(twins);
  Executable executable(sum_of_relu());
  const auto results = executable.run({{Tensor::of<float>({2}, {-1, 3})}});
  EXPECT_TENSOR(Value(results[1]), f32({2}, {0, 6}));
  EXPECT_TENSOR(Value(results[2]), f32({2}, {0, 12}));
}

TEST(Collective, ScopesNest) {
  Twins outer;
  Twins inner;
  CollectivesScope outer_scope(outer);
  {
    CollectivesScope scope(inner);
    EXPECT_EQ(current_collectives(), &inner);
  }
  EXPECT_EQ(current_collectives(), &outer);
}

TEST(Collective, WithoutANetworkNothingOfAPlanRuns) {
  Executable executable(sum_of_relu());
  const std::vector<Tensor> arguments = {Tensor::of<float>({2}, {-1, 3})};
  std::vector<Tensor> results(3);
  for (Tensor& result : results) result = Tensor::zeros({DType::kF32, {2}});
  Told told;
  expect_error(ErrorCode::kUnavailable,
               {"all_reduce", "2 ranks", "CollectivesScope", "node: "},
               [&] { executable.run(arguments, results, &told); });
  EXPECT_TRUE(told.results.empty());
  EXPECT_TENSOR(Value(results[0]), f32({2}, {0, 0}));
  expect_error(ErrorCode::kUnavailable, {"all_gather", "2 ranks"},
               [&] { all_gather(f32({1}, {1}), kBoth); });
}

TEST(Collective, ANetworkOfAnotherSizeIsRefused) {
  Twins twins;
  CollectivesScope scope(twins);
  expect_error(ErrorCode::kInvalidArgument, {"for 3 ranks", "has 2"},
               [&] { all_reduce(f32({1}, {1}), RankGroups::whole(3)); });
  EXPECT_EQ(twins.calls, 0);
}

TEST(Collective, AFailureEndsTheRun) {
  Twins twins;
  CollectivesScope scope(twins);
  Executable executable(sum_of_relu());
  const std::vector<Tensor> arguments = {Tensor::of<float>({2}, {-1, 3})};
  twins.most_calls = 0;
  expect_error(ErrorCode::kUnavailable, {"rank 1", "is no more"},
               [&] { executable.run(arguments); });
  EXPECT_EQ(twins.calls, 1) << "steps ran on after the failure";
  expect_error(ErrorCode::kUnavailable, {"is no more"},
               [&] { all_reduce(f32({1}, {1}), kBoth); });
  twins.most_calls = 100;  // the failure was thrown, and is forgotten
  EXPECT_TENSOR(Value(executable.run(arguments)[1]), f32({2}, {0, 6}));
}

TEST(Collective, GradientsAreThoseOfTheSumOfAllLosses) {
  Twins twins;
  CollectivesScope scope(twins);
  const Value w = f32({2}, {3, 5});
  const auto gradient = [&](auto&& op, Value x) {
    Tape tape;
    tape.watch(x);
    const Value y = op(x);
    return tape.gradient(sum(y * w), {&x, 1})[0];
  };
  // Each twin's x goes into both losses.
  EXPECT_TENSOR(gradient([](const Value& x) { return all_reduce(x, kBoth); },
                         f32({2}, {1, 1})),
                f32({2}, {6, 10}));
  EXPECT_TENSOR(
      gradient([](const Value& x) { return reduce_scatter(x, kBoth); },
               f32({4}, {1, 1, 1, 1})),
      f32({4}, {3, 5, 3, 5}));
  EXPECT_TENSOR(gradient([](const Value& x) { return all_gather(x, kBoth); },
                         f32({1}, {1})),
                f32({1}, {6}));
}

TEST(Collective, GroupsRoundTripThroughTheTextForm) {
  FunctionBuilder builder("f");
  const RankGroups groups{{0, 2, 1, 3}, 2};
  const Function function = builder.build([&] {
    const Value x =
        builder.parameter({DType::kF32, {dim_multiply(symbol("N"), 2), 3}});
    return std::vector{
        all_gather(all_reduce(reduce_scatter(x, groups), groups), groups)};
  });
  const std::string text = to_string(function);
  EXPECT_NE(text.find("reduce_scatter(%0) {groups = [0, 2, 1, 3], group_size = "
                      "2} : f32[N, 3]"),
            text.npos)
      << text;
  const Graph read = parse_graph(text);
  EXPECT_EQ(to_string(read.functions[0]), text);
  EXPECT_EQ(RankGroups::of(read.functions[0].nodes()[1].attributes), groups);
}

TEST(Collective, InferenceRefusesWhatDoesNotFit) {
  const Value x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto refused = [](const char* part, auto&& body) {
    expect_error(ErrorCode::kInvalidArgument, {part}, body);
  };
  refused("do not make groups", [&] { all_reduce(x, {{0, 1, 2}, 2}); });
  refused("do not make groups", [&] { all_reduce(x, {{}, 1}); });
  refused("do not make groups", [&] { all_reduce(x, {{0}, 0}); });
  refused("each rank once", [&] { all_reduce(x, {{0, 0}, 2}); });
  refused("each rank once", [&] { all_reduce(x, {{1, 2}, 2}); });
  refused("no sums of bool", [&] {
    all_reduce(boolean({1}, {true}), {{0}, 1});
  });
  refused("to split into 2", [&] { reduce_scatter(x, kBoth); });
  refused("no leading axis",
          [&] { all_gather(f32({}, {1}), RankGroups::whole(1)); });
}

}  // namespace
}  // namespace weft::testing::collective_test
