// Recursions over tensors: with and without batching, forward and with
// gradients, against nested calls.
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/support/nested_calls.h"
#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/runtime/tagged/executor.h"

namespace weft::tagged_batching_test {
namespace {

using test::kNumber;
using test::near;
using test::NestedCalls;
using test::number;
using test::pattern;
using test::Values;

constexpr Dim kWidth = 6;

// A recursive network on trees: h = word's row at a leaf, else
// tanh([h_left; h_right] w + b); the result is the sum of h² over all roots.
// @loss(left, right, roots, words, w, b), and @step, which adds gradients.
Graph tree_network() {
  const TensorType indices{DType::kI64, {symbol("N")}};
  const TensorType roots_type{DType::kI64, {symbol("R")}};
  const TensorType words{DType::kF32, {symbol("V"), kWidth}};
  const TensorType weight{DType::kF32, {2 * kWidth, kWidth}};
  const TensorType bias{DType::kF32, {kWidth}};
  const TensorType hidden{DType::kF32, {kWidth}};
  const std::vector<TensorType> tables{indices, indices, words, weight, bias};
  Program program;
  const auto with = [](const Value& first, std::span<const Value> more) {
    Values all{first};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  std::vector<TensorType> parameters{kNumber};
  parameters.insert(parameters.end(), tables.begin(), tables.end());
  // (node, left, right, words, w, b) -> h
  const FunctionRef tree = program.declare("tree", {parameters, {hidden}});
  program.define(tree, [&](const Values& v) {
    const Value& node = v[0];
    const auto rest = std::span(v).subspan(1);
    const Value left = gather(rest[0], node);
    return cond(
        less(left, number(0)),
        [&] { return Values{gather(rest[2], gather(rest[1], node))}; },
        [&] {
          const Value right = gather(rest[1], node);
          const Value both = concat(Values{call(tree, with(left, rest))[0],
                                           call(tree, with(right, rest))[0]},
                                    0);
          const Value row = reshape(both, {1, 2 * kWidth});
          return Values{
              tanh(reshape(matmul(row, rest[3]), {kWidth}) + rest[4])};
        });
  });
  // (roots left to do, roots, left, right, words, w, b) -> loss
  std::vector<TensorType> all{kNumber, roots_type};
  all.insert(all.end(), tables.begin(), tables.end());
  const FunctionRef forest =
      program.declare("forest", {all, {{DType::kF32, {}}}});
  program.define(forest, [&](const Values& v) {
    return cond(
        less_equal(v[0], number(0)),
        [&] { return Values{Tensor::scalar(0.0f)}; },
        [&] {
          const Value root = gather(v[1], v[0] - 1);
          const Value h = call(tree, with(root, std::span(v).subspan(2)))[0];
          const Value others =
              call(forest, with(v[0] - 1, std::span(v).subspan(1)))[0];
          return Values{others + sum(square(h))};
        });
  });
  program.define("loss", all, [&](const Values& v) { return call(forest, v); });
  program.define("step", all, [&](const Values& v) {
    Values results = call(forest, v);
    for (Value& g : gradients(results[0], std::span(v).subspan(4))) {
      results.push_back(std::move(g));
    }
    return results;
  });
  return program.build();
}

// Random trees of so many leaves each, as tables; a leaf has left = -1 and its
// word in right.
std::vector<Tensor> random_trees(const std::vector<int>& leaves,
                                 std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> left;
  std::vector<std::int64_t> right;
  std::vector<std::int64_t> roots;
  constexpr std::int64_t kWords = 9;
  for (const int count : leaves) {
    std::vector<std::int64_t> open;
    for (int i = 0; i < count; ++i) {
      open.push_back(static_cast<std::int64_t>(left.size()));
      left.push_back(-1);
      right.push_back(static_cast<std::int64_t>(random() % kWords));
    }
    while (open.size() > 1) {
      const std::size_t at = random() % (open.size() - 1);
      const auto node = static_cast<std::int64_t>(left.size());
      left.push_back(open[at]);
      right.push_back(open[at + 1]);
      open[at] = node;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    roots.push_back(open[0]);
  }
  const auto table = [](const std::vector<std::int64_t>& values) {
    return Tensor::of<std::int64_t>({static_cast<Dim>(values.size())}, values);
  };
  return {number(static_cast<std::int64_t>(roots.size())).tensor(),
          table(roots),
          table(left),
          table(right),
          pattern({kWords, kWidth}),
          pattern({2 * kWidth, kWidth}),
          pattern({kWidth})};
}

TaggedExecutor executor_for(const Graph& graph, std::string_view entry,
                            std::span<const Tensor> arguments,
                            TaggedOptions options) {
  std::vector<TensorType> types;
  for (const Tensor& argument : arguments) types.push_back(argument.type());
  return TaggedExecutor(lower(graph, entry, types), std::move(options));
}

void expect_near(const std::vector<Tensor>& actual,
                 const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(near(actual[i], expected[i], 2e-5)) << "result " << i;
  }
}

TEST(TaggedBatching, GathersNodesOfTreesIntoProducts) {
  const Graph graph = tree_network();
  const auto arguments = random_trees({5, 1, 17, 8, 30, 12}, 7);
  NestedCalls nested(graph);
  const auto expected = nested.run("loss", arguments);
  for (const Batching batching :
       {Batching::kAlways, Batching::kNever, Batching::kWhereItPays}) {
    TaggedExecutor executor =
        executor_for(graph, "loss", arguments, {.batching = batching});
    for (int round = 0; round < 2; ++round) {
      expect_near(executor.run(arguments), expected);
      EXPECT_EQ(executor.profile().live_frames, 0);
      EXPECT_EQ(executor.profile().activations("tree"), 2 * 73 - 6);
    }
    const TaggedProfile profile = executor.profile();
    std::int64_t runs = 0;
    std::int64_t instances = 0;
    for (const auto& region : profile.regions) {
      if (!region.name.starts_with("tree")) continue;
      runs += region.runs;
      instances += region.instances;
    }
    if (batching == Batching::kNever) {
      EXPECT_EQ(runs, instances);
    } else {
      EXPECT_GT(instances, 3 * runs) << to_string(profile);
    }
  }
}

TEST(TaggedBatching, RepeatsBitForBit) {
  const Graph graph = tree_network();
  const auto arguments = random_trees({9, 14, 3}, 3);
  TaggedExecutor executor = executor_for(graph, "step", arguments, {});
  const auto first = executor.run(arguments);
  const auto second = executor.run(arguments);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(identical(first[i], second[i]));
  }
}

TEST(TaggedBatching, GradientsFindWhatTheirCallsLeft) {
  const Graph graph = tree_network();
  NestedCalls nested(graph);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const auto arguments = random_trees({4, 11, 2, 7}, seed);
    const auto expected = nested.run("step", arguments);
    for (const Batching batching :
         {Batching::kWhereItPays, Batching::kNever, Batching::kAlways}) {
      TaggedExecutor executor =
          executor_for(graph, "step", arguments, {.batching = batching});
      expect_near(executor.run(arguments), expected);
      EXPECT_EQ(executor.profile().live_frames, 0);
      EXPECT_EQ(executor.profile().activations("tree.joint"), 2 * 24 - 4);
    }
  }
}

// Sums are added up in one order whatever is asked for: one worker does it.
TEST(TaggedBatching, SumsHaveOneWorker) {
  const Graph graph = tree_network();
  const auto arguments = random_trees({9, 14, 3}, 3);
  std::vector<Tensor> alone;
  for (const int workers : {1, 4}) {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    TaggedExecutor executor = executor_for(
        graph, "step", arguments,
        {.batching = Batching::kNever, .workers = workers, .before_work = [&] {
           const std::lock_guard lock(mutex);
           threads.insert(std::this_thread::get_id());
         }});
    const auto results = executor.run(arguments);
    EXPECT_EQ(threads.size(), 1u);
    if (alone.empty()) alone = results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(identical(results[i], alone[i])) << i;
    }
  }
}

// The Hessian's product with a vector, by the path that is the default: the
// joint of a joint, batched, with accumulators of its own.
TEST(TaggedBatching, SecondOrderGradients) {
  const std::size_t bias = 6;  // of the arguments of @loss
  const Graph first = tree_network();
  Program program(first);
  std::vector<TensorType> types;
  for (const ValueId id : first.find("loss")->parameters()) {
    types.push_back(first.find("loss")->type(id));
  }
  const FunctionRef loss = reference_to(*first.find("loss"));
  program.define("curve", types, [&](const Values& v) {
    const auto wrt = std::span(v).subspan(4);
    const Value y = call(loss, v)[0];
    const Values slopes = gradients(y, wrt);
    Value length = sum(square(slopes[0]));
    for (std::size_t i = 1; i < slopes.size(); ++i) {
      length = length + sum(square(slopes[i]));
    }
    Values results{length};
    for (Value& g : gradients(length, wrt)) results.push_back(std::move(g));
    return results;
  });
  const Graph graph = program.build();
  const auto arguments = random_trees({5, 9, 2}, 6);
  NestedCalls nested(graph);
  const auto expected = nested.run("curve", arguments);
  for (const Batching batching : {Batching::kWhereItPays, Batching::kNever}) {
    TaggedExecutor executor =
        executor_for(graph, "curve", arguments, {.batching = batching});
    const auto found = executor.run(arguments);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(near(found[i], expected[i], 2e-4)) << i;
    }
    EXPECT_EQ(executor.profile().live_frames, 0);
  }
  // Against differences of the first order.
  TaggedExecutor executor = executor_for(graph, "curve", arguments, {});
  const double slope = executor.run(arguments).back().item(2);
  const auto at = [&](float step) {
    auto moved = arguments;
    moved[bias] = arguments[bias].clone();
    moved[bias].data<float>()[2] += step;
    return executor.run(moved)[0].item();
  };
  EXPECT_NEAR((at(1e-2f) - at(-1e-2f)) / 2e-2, slope,
              1e-2 * std::max(1.0, std::abs(slope)));
}

TEST(TaggedBatching, AParameterOfEveryActivationHasOneAccumulator) {
  const Graph graph = tree_network();
  const auto arguments = random_trees({6, 3}, 4);
  TaggedExecutor executor = executor_for(graph, "step", arguments, {});
  std::set<int> added;
  for (const FlatNode& node : executor.graph().nodes) {
    if (node.kind == FlatKind::kAccumulate) added.insert(node.index);
    // No activation of the trees returns a gradient to another.
    if (node.kind == FlatKind::kReturn && node.body != 0) {
      EXPECT_LE(node.types[0].bytes(), kWidth * sizeof(float));
    }
  }
  EXPECT_EQ(added.size(), 3u);  // words, w, b
  EXPECT_EQ(executor.run(arguments).size(), 4u);
}

TEST(TaggedBatching, GradientOfFactorial) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  program.define("main", {test::kReal}, [&](const Values& x) {
    const Values y = call(fac, x);
    return Values{y[0], gradients(y[0], x)[0]};
  });
  const Graph graph = program.build();
  TaggedExecutor executor(lower(graph, "main", std::vector{test::kReal}));
  const auto at = [&](double x) {
    const auto results = executor.run({{Tensor::scalar(x)}});
    EXPECT_EQ(executor.profile().live_frames, 0);
    return std::pair(results[0].item(), results[1].item());
  };
  EXPECT_EQ(at(5), std::pair(120.0, 154.0));
  EXPECT_EQ(at(5.5), std::pair(324.84375, 570.5625));
  EXPECT_EQ(at(0.5), std::pair(1.0, 0.0));
  EXPECT_EQ(executor.profile().activations("fac.joint"), 1);
}

}  // namespace
}  // namespace weft::tagged_batching_test
