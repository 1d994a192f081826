#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/recursions.h"

#include "weft/autodiff/gradient.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/tagged/executor.h"

namespace weft::tagged_test {
namespace {

using test::kNumber;
using test::number;
using test::Values;

// x <= 1 ? 1 : F(x, y) with F(x, y) = f(x - 1, f(x, y)): never ends, though its
// value does not depend on what does not end.
void add_not_lazy(Program& program) {
  const FunctionRef f = program.declare("f", {{kNumber, kNumber}, {kNumber}});
  program.define(f, [&](const Values& v) {
    return cond(
        less_equal(v[0], number(1)), [&] { return Values{number(1)}; },
        [&] {
          return call(f, Values{v[0] - 1, test::call_one(f, v)});
        });
  });
}

// n <= 0 ? 0 : n + sum(n - 1)
void add_sum(Program& program) {
  const FunctionRef sum = program.declare("sum", {{kNumber}, {kNumber}});
  program.define(sum, [&](const Values& n) {
    return cond(
        less_equal(n[0], number(0)), [&] { return Values{number(0)}; },
        [&] { return Values{n[0] + test::call_one(sum, {n[0] - 1})}; });
  });
}

void add_mutual(Program& program) {
  const FunctionRef f = program.declare("F", {{kNumber}, {kNumber}});
  const FunctionRef g = program.declare("G", {{kNumber}, {kNumber}});
  program.define(f, [&](const Values& n) {
    return cond(
        less_equal(n[0], number(1)), [&] { return Values{number(1)}; },
        [&] { return call(g, Values{n[0] - 1}); });
  });
  program.define(g, [&](const Values& n) { return call(f, n); });
}

std::vector<Tensor> numbers(std::initializer_list<std::int64_t> values) {
  std::vector<Tensor> tensors;
  for (const std::int64_t value : values)
    tensors.push_back(number(value).tensor());
  return tensors;
}

template <class Add>
Graph graph_of(Add&& add) {
  Program program;
  add(program);
  return program.build();
}

TaggedExecutor executor_of(const Graph& graph, std::string_view entry,
                           TaggedOptions options = {.workers = 1}) {
  std::vector<TensorType> types;
  for (const ValueId id : graph.find(entry)->parameters()) {
    types.push_back(graph.find(entry)->type(id));
  }
  return TaggedExecutor(lower(graph, entry, types), std::move(options));
}

struct Outcome {
  std::int64_t value;
  std::int64_t activations;
};

// Runs a function, and checks that no frame is left.
Outcome run(const Graph& graph, std::string_view function,
            std::initializer_list<std::int64_t> arguments,
            TaggedOptions options = {.workers = 1}) {
  TaggedExecutor executor = executor_of(graph, function, std::move(options));
  const auto results = executor.run(numbers(arguments));
  const TaggedProfile profile = executor.profile();
  EXPECT_EQ(profile.live_frames, 0);
  return {static_cast<std::int64_t>(results.at(0).item()),
          profile.activations(function)};
}

void expect(const Outcome& outcome, std::int64_t value,
            std::int64_t activations) {
  EXPECT_EQ(outcome.value, value);
  EXPECT_EQ(outcome.activations, activations);
}

TEST(Tagged, KnownRecursions) {
  const Graph fib = graph_of(test::add_fibonacci);
  expect(run(fib, "fib", {10}), 89, 177);
  expect(run(fib, "fib", {24}), 75025, 150049);
  expect(run(graph_of(test::add_ackermann), "ackermann", {2, 3}), 9, 44);
  const Graph tak = graph_of(test::add_takeuchi);
  expect(run(tak, "tak", {18, 12, 6}), 7, 63609);
  expect(run(tak, "tak", {24, 16, 8}), 9, 2493349);
  expect(run(graph_of(add_mutual), "F", {4}), 1, 4);
  expect(run(graph_of(add_mutual), "G", {4}), 1, 4);
}

TEST(Tagged, ABranchThatIsNotTakenBeginsNothing) {
  TaggedExecutor fac = executor_of(graph_of(test::add_factorial), "fac");
  EXPECT_EQ(fac.run({{Tensor::scalar(5.0)}})[0].item(), 120);
  EXPECT_EQ(fac.profile().activations("fac"), 5);
  EXPECT_EQ(fac.run({{Tensor::scalar(1.0)}})[0].item(), 1);
  EXPECT_EQ(fac.profile().activations("fac"), 1);
}

TEST(Tagged, DepthFirstKeepsFewActivations) {
  TaggedExecutor executor = executor_of(graph_of(test::add_fibonacci), "fib");
  executor.run(numbers({24}));
  EXPECT_LE(executor.profile().peak_frames, 2 * 25);
}

TEST(Tagged, ConstantsFireOncePerActivation) {
  TaggedExecutor executor = executor_of(graph_of(add_sum), "sum");
  executor.run(numbers({6}));
  std::int64_t constants = 0;
  for (std::size_t i = 0; i < executor.graph().regions.size(); ++i) {
    const Function& region = executor.graph().regions[i].function;
    if (!region.parameters().empty()) continue;
    constants += executor.profile().regions[i].runs;
  }
  EXPECT_EQ(constants, 1);  // only the innermost activation takes that branch
}

TEST(Tagged, ADeepRecursionEndsOrSaysWhy) {
  const Graph sum = graph_of(add_sum);
  const std::int64_t depth = 100'000;
  expect(run(sum, "sum", {depth}), depth * (depth + 1) / 2, depth + 1);
  test::expect_error(
      ErrorCode::kExhausted,
      {"@sum: more than 1000 activations", "called by @sum", "more",
       "called by @entry", "max_frames"},
      [&] { run(sum, "sum", {depth}, {.workers = 1, .max_frames = 1000}); });
}

TEST(Tagged, EvaluationIsLenientButNotLazy) {
  const Graph graph = graph_of(add_not_lazy);
  test::expect_error(ErrorCode::kExhausted, {"activations at once", "@f"}, [&] {
    run(graph, "f", {3, 1}, {.workers = 1, .max_frames = 500});
  });
  // Where the branch is not taken, the call in it is dead.
  expect(run(graph, "f", {1, 1}), 1, 1);
}

TEST(Tagged, FramesAreFreeAgainAfterAnError) {
  const Graph sum = graph_of(add_sum);
  for (const int workers : {1, 3}) {
    TaggedExecutor executor =
        executor_of(sum, "sum", {.workers = workers, .max_frames = 1000});
    for (int round = 0; round < 3; ++round) {
      EXPECT_THROW(executor.run(numbers({5000})), Error);
      EXPECT_EQ(executor.profile().live_frames, 0);
      EXPECT_EQ(executor.run(numbers({100}))[0].item(), 5050);
    }
  }
}

TEST(Tagged, ARunCanBeStopped) {
  std::stop_source stop;
  std::atomic<int> count{0};
  TaggedExecutor executor = executor_of(graph_of(test::add_fibonacci), "fib",
                                        {.workers = 2, .before_work = [&] {
                                           if (++count == 1000)
                                             stop.request_stop();
                                         }});
  test::expect_error(ErrorCode::kCancelled, {"stopped"},
                     [&] { executor.run(numbers({30}), stop.get_token()); });
  EXPECT_EQ(executor.profile().live_frames, 0);
  EXPECT_EQ(executor.run(numbers({10}))[0].item(), 89);
}

std::int64_t tak(std::int64_t x, std::int64_t y, std::int64_t z) {
  if (y >= x) return z;
  return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y));
}

// Holds workers up at random, by a seed; counts those that it met.
class Delays {
 public:
  explicit Delays(std::uint32_t seed) : seed_(seed) {}

  void operator()() {
    thread_local std::mt19937 random;
    {
      const std::lock_guard lock(mutex_);
      if (threads_.insert(std::this_thread::get_id()).second) {
        random.seed(seed_ + static_cast<std::uint32_t>(threads_.size()));
      }
    }
    // Most go on at once, some let others pass, and few stay away for long.
    const auto drawn = random() % 64;
    const auto times = drawn == 0 ? 1 + random() % 50 : drawn < 8 ? 1 : 0;
    for (auto i = times; i > 0; --i) std::this_thread::yield();
  }
  std::size_t threads() const { return threads_.size(); }

 private:
  std::uint32_t seed_;
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

TEST(Tagged, ResultsOfConcurrentCallsNeverCross) {
  const Graph graph = graph_of(test::add_takeuchi);
  for (int workers = 1; workers <= 8; ++workers) {
    Delays delays(static_cast<std::uint32_t>(workers));
    TaggedExecutor executor = executor_of(
        graph, "tak", {.workers = workers, .before_work = [&] { delays(); }});
    for (int round = 0; round < 125; ++round) {
      const std::int64_t x = round % 9;
      ASSERT_EQ(executor.run(numbers({x, 4, 2}))[0].item(), tak(x, 4, 2));
      ASSERT_EQ(executor.profile().live_frames, 0);
    }
    EXPECT_GT(delays.threads(), workers == 1 ? 0u : 1u);
  }
}

// x < 2 ? x : f(x - 1) f(x - 2) + x, and its slope.
std::pair<double, double> product(double x) {
  if (x < 2) return {x, 1};
  const auto [a, slope_a] = product(x - 1);
  const auto [b, slope_b] = product(x - 2);
  return {a * b + x, slope_a * b + a * slope_b + 1};
}

// The backward phase of each call finds the frame of its forward phase, on
// whatever worker.
TEST(Tagged, GradientsOfConcurrentCallsNeverCross) {
  Program program;
  const FunctionRef f = program.declare("f", {{test::kReal}, {test::kReal}});
  program.define(f, [&](const Values& x) {
    return cond(
        less(x[0], test::real(2)), [&] { return x; },
        [&] {
          return Values{test::call_one(f, {x[0] - 1}) *
                            test::call_one(f, {x[0] - 2}) +
                        x[0]};
        });
  });
  program.define("main", {test::kReal}, [&](const Values& x) {
    const Value y = test::call_one(f, x);
    return Values{y, gradients(y, x)[0]};
  });
  const Graph graph = program.build();
  for (const int workers : {1, 2, 4, 7}) {
    Delays delays(static_cast<std::uint32_t>(workers));
    TaggedExecutor executor = executor_of(
        graph, "main", {.workers = workers, .before_work = [&] { delays(); }});
    for (int round = 0; round < 40; ++round) {
      const double x = 0.25 + round % 7;
      const auto results = executor.run({{Tensor::scalar(x)}});
      const auto [y, slope] = product(x);
      ASSERT_NEAR(results[0].item(), y, 1e-9 * std::abs(y));
      ASSERT_NEAR(results[1].item(), slope, 1e-9 * std::abs(slope));
      ASSERT_EQ(executor.profile().live_frames, 0);
    }
    EXPECT_GT(delays.threads(), workers == 1 ? 0u : 1u);
  }
}

TEST(Tagged, SeveralResultsAndSeveralCallers) {
  Program program;
  const FunctionRef both =
      program.define("both", {kNumber, kNumber}, [](const Values& v) {
        return Values{v[0] + v[1], v[0] - v[1]};
      });
  program.define("main", {kNumber}, [&](const Values& n) {
    const Values a = call(both, Values{n[0], number(1)});
    const Values b = call(both, Values{a[1], a[0]});
    return Values{b[0], b[1], a[0]};
  });
  TaggedExecutor executor = executor_of(program.build(), "main");
  const auto results = executor.run(numbers({10}));
  EXPECT_EQ(results[0].item(), 20);
  EXPECT_EQ(results[1].item(), -2);
  EXPECT_EQ(results[2].item(), 11);
}

TEST(Tagged, AFunctionNeedNoArgumentsAndNoUse) {
  Program program;
  const FunctionRef seven = program.define(
      "seven", {}, [](const Values&) { return Values{number(7)}; });
  const FunctionRef first =
      program.define("first", {kNumber, kNumber},
                     [](const Values& v) { return Values{v[0]}; });
  program.define("main", {kNumber}, [&](const Values& n) {
    return cond(
        less(n[0], number(5)), [&] { return call(seven, Values{}); },
        [&] {
          return call(first, Values{n[0], n[0] + number(1)});
        });
  });
  const Graph graph = program.build();
  EXPECT_EQ(run(graph, "main", {4}).value, 7);
  EXPECT_EQ(run(graph, "main", {5}).value, 5);
}

TEST(Tagged, TensorsTravelUnderTags) {
  // power(x, n) = n == 0 ? x : power(x x, n - 1), by products of matrices.
  Program program;
  const TensorType matrix{DType::kF32, {2, 2}};
  const FunctionRef power =
      program.declare("power", {{matrix, kNumber}, {matrix}});
  program.define(power, [&](const Values& v) {
    return cond(
        equal(v[1], number(0)), [&] { return Values{v[0]}; },
        [&] {
          return Values{
              matmul(call(power, Values{v[0], v[1] - number(1)})[0], v[0])};
        });
  });
  program.define("main", {matrix, kNumber},
                 [&](const Values& v) { return call(power, v); });
  const std::int64_t before = live_bytes();
  {
    TaggedExecutor executor(
        lower(program.build(), "main", std::vector{matrix, kNumber}),
        {.workers = 1});
    const Tensor x = Tensor::of<float>({2, 2}, {1, 1, 0, 1});
    const auto y = executor.run(std::vector{x, number(9).tensor()})[0];
    EXPECT_EQ(y.data<float>()[1], 10);
    EXPECT_EQ(y.data<float>()[3], 1);
  }
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace weft::tagged_test
