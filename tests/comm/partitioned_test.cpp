// Graphs in parts on several ranks, against the same graphs on one.
#include "weft/comm/graph/partitioned.h"

#include <gtest/gtest.h>
#include <mutex>

#include "tests/support/errors.h"
#include "tests/support/nested_calls.h"
#include "tests/support/placed_programs.h"

#include "weft/comm/transport/thread.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/place/partition.h"
#include "weft/place/rank_placer.h"

namespace weft::partitioned_test {
namespace {

using test::expect_error;
using test::kNumber;
using test::kReal;
using test::layered_fibonacci;
using test::NestedCalls;
using test::number;
using test::random_tree;
using test::tree_program;
using test::types_of;
using test::Values;

using Tensors = std::vector<Tensor>;

// What the ranks got of the results, together.
struct Outcome {
  std::vector<Tensors> results;         // by run
  std::vector<TaggedProfile> profiles;  // of the last run, by rank
};

// Makes the parts once and runs them on each of `inputs`. A rank is given no
// argument that is not its own.
Outcome run_parts(const Graph& graph, std::string_view entry,
                  const RankPlacement& placement,
                  const std::vector<Tensors>& inputs,
                  const ThreadWorldOptions& world_options = {},
                  const TaggedOptions& options = {}) {
  Outcome outcome;
  outcome.results.resize(inputs.size());
  outcome.profiles.resize(static_cast<std::size_t>(placement.ranks));
  std::mutex mutex;
  ThreadWorld world(placement.ranks, world_options);
  world.run([&](Transport& transport) {
    Engine engine(transport, {.timeout = 20});
    Communicator all(transport);
    Partitioned parts(graph, entry, types_of(inputs[0]), placement, all, engine,
                      options);
    for (std::size_t run = 0; run < inputs.size(); ++run) {
      Tensors own = inputs[run];
      for (std::size_t i = 0; i < own.size(); ++i) {
        const int rank = placement.rank_of_argument(i);
        if (rank != RankPlacement::kEverywhere && rank != transport.rank()) {
          own[i] = Tensor();
        }
      }
      const Tensors results = parts.run(own);
      EXPECT_EQ(parts.profile().live_frames, 0);
      const std::lock_guard lock(mutex);
      Tensors& together = outcome.results[run];
      together.resize(results.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const int rank = placement.rank_of_result(i);
        const bool is_here =
            rank == RankPlacement::kEverywhere || rank == transport.rank();
        EXPECT_EQ(results[i].is_defined(), is_here) << "result " << i;
        if (is_here) together[i] = results[i];
      }
      outcome.profiles[static_cast<std::size_t>(transport.rank())] =
          parts.profile();
    }
  });
  return outcome;
}

// The parts give, to the bit, what one rank gives that runs the same graph.
Outcome expect_as_on_one(const Graph& graph, std::string_view entry,
                         const RankPlacement& placement,
                         const std::vector<Tensors>& inputs,
                         const ThreadWorldOptions& world_options = {}) {
  Outcome outcome = run_parts(graph, entry, placement, inputs, world_options);
  TaggedExecutor whole(lower(graph, entry, types_of(inputs[0]), placement),
                       {.batching = Batching::kNever, .workers = 1});
  for (std::size_t run = 0; run < inputs.size(); ++run) {
    const Tensors expected = whole.run(inputs[run]);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(identical(outcome.results[run][i], expected[i]))
          << "run " << run << ", result " << i;
    }
  }
  return outcome;
}

Tensors numbers(std::initializer_list<std::int64_t> values) {
  Tensors tensors;
  for (const std::int64_t value : values) {
    tensors.push_back(Tensor::scalar(value));
  }
  return tensors;
}

TEST(Partitioned, RecursionsOfAnyDepthRunInTheSameParts) {
  const Graph graph = layered_fibonacci();
  const auto outcome =
      run_parts(graph, "fib", parse_placement("layer:adder=1", 2),
                {numbers({1}), numbers({10}), numbers({0}), numbers({13})});
  EXPECT_EQ(outcome.results[0][0].item(), 1);
  EXPECT_EQ(outcome.results[1][0].item(), 89);
  EXPECT_EQ(outcome.results[2][0].item(), 1);
  EXPECT_EQ(outcome.results[3][0].item(), 377);
  for (const TaggedProfile& profile : outcome.profiles) {
    EXPECT_EQ(profile.activations("fib"), 753);
  }
}

TEST(Partitioned, ARankWithoutWorkTakesNoPart) {
  const auto outcome = run_parts(layered_fibonacci(), "fib",
                                 {.ranks = 3, .others = 1}, {numbers({10})});
  EXPECT_EQ(outcome.results[0][0].item(), 89);
  EXPECT_EQ(outcome.profiles[0].activations("fib"), 0);
  EXPECT_EQ(outcome.profiles[1].activations("fib"), 177);
  EXPECT_EQ(outcome.profiles[2].activations("fib"), 0);
}

TEST(Partitioned, MutualRecursion) {
  Program program;
  const FunctionRef f = program.declare("F", {{kNumber}, {kNumber}});
  const FunctionRef g = program.declare("G", {{kNumber}, {kNumber}});
  program.define(f, [&](const Values& n) {
    return cond(
        less_equal(n[0], number(1)), [&] { return Values{n[0] * 7}; },
        [&] { return Values{test::call_one(g, {n[0] - 1}) + 1}; });
  });
  program.define(g, [&](const Values& n) {
    return Values{test::call_one(f, {n[0]}) * 3 - n[0]};
  });
  const Graph graph = program.build();
  NestedCalls nested(graph);
  const std::vector<Tensors> inputs{numbers({1}), numbers({9}), numbers({20})};
  const auto outcome = run_parts(graph, "F", parse_placement("G=1", 2), inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(outcome.results[i][0].item(),
              nested.run("F", inputs[i])[0].item());
  }
}

const RankPlacement kTreeOnThree{.ranks = 3,
                                 .functions = {{"leaf", 1}, {"combine", 2}}};

std::vector<Tensors> trees() {
  return {random_tree(1, 1), random_tree(2, 2), random_tree(13, 3),
          random_tree(32, 4)};
}

TEST(Partitioned, TreesOfAnyShape) {
  const Graph graph = tree_program();
  const auto outcome = expect_as_on_one(graph, "loss", kTreeOnThree, trees());
  for (const TaggedProfile& profile : outcome.profiles) {
    EXPECT_EQ(profile.activations("tree"), 63);
  }
  EXPECT_EQ(outcome.profiles[0].activations("leaf"), 0);
  EXPECT_EQ(outcome.profiles[1].activations("combine"), 0);
  EXPECT_EQ(outcome.profiles[2].activations("combine"), 31);
}

TEST(Partitioned, GradientsGoWhereTheirWeightsAre) {
  const Graph graph = tree_program();
  RankPlacement placement = kTreeOnThree;
  // Weights are given to, and gradients left on, the rank that uses them.
  placement.arguments = {0, 0, 0, 1, 2, 2};
  placement.results = {RankPlacement::kEverywhere, 1, 2, 2};
  const auto outcome = expect_as_on_one(graph, "step", placement, trees());
  NestedCalls nested(graph);
  for (std::size_t run = 0; run < outcome.results.size(); ++run) {
    const Tensors expected = nested.run("step", trees()[run]);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::near(outcome.results[run][i], expected[i], 2e-5))
          << "run " << run << ", result " << i;
    }
  }
}

// Only scalars and hidden vectors cross: no matrix leaves the rank of its
// function, though @tree, which is placed nowhere, adds gradients of matrices
// up.
TEST(Partitioned, MatricesStayWhereTheirFunctionsAre) {
  const Graph graph = tree_program();
  RankPlacement placement = kTreeOnThree;
  placement.arguments = {0, 0, 0, 1, 2, 2};
  placement.results = {0, 1, 2, 2};
  const auto whole =
      lower(graph, "step", types_of(random_tree(1, 1)), placement);
  for (const GraphPart& part : partition(whole, placement)) {
    for (const Crossing& crossing : part.graph.crossings) {
      EXPECT_LE(crossing.type.bytes(), test::kTreeWidth * sizeof(float))
          << crossing.value;
    }
  }
}

// main(n, x): n times x = halve(x) or grow(x), as x stands, by a loop; the
// condition, and the two functions, may be anywhere.
Graph loop_program() {
  Program program;
  const FunctionRef halve = program.define(
      "halve", {kReal}, [](const Values& x) { return Values{x[0] * 0.5}; });
  const FunctionRef grow = program.define(
      "grow", {kReal}, [](const Values& x) { return Values{x[0] * x[0] + 1}; });
  program.define("main", {kNumber, kReal}, [&](const Values& v) {
    const Values last = while_loop(
        {number(0), v[1]}, [&](const Values& s) { return less(s[0], v[0]); },
        [&](const Values& s) {
          const Values next = cond(
              greater(s[1], test::real(3)),
              [&] { return call(halve, Values{s[1]}); },
              [&] {
                return cond(
                    greater(s[1], test::real(2)),
                    [&] { return call(grow, Values{s[1] - 0.25}); },
                    [&] { return Values{s[1] + 0.375}; });
              });
          return Values{s[0] + 1, next[0]};
        });
    return Values{last[1], last[0]};
  });
  return program.build();
}

TEST(Partitioned, LoopsWithBranchesOnDifferentRanks) {
  const Graph graph = loop_program();
  const std::vector<Tensors> inputs{
      {Tensor::scalar<std::int64_t>(0), Tensor::scalar(1.0)},
      {Tensor::scalar<std::int64_t>(57), Tensor::scalar(0.5)},
      {Tensor::scalar<std::int64_t>(200), Tensor::scalar(9.0)}};
  for (const char* text :
       {"halve=1", "halve=1 grow=2", "main=3 halve=1 grow=2", "grow=3 *=2"}) {
    const auto outcome =
        expect_as_on_one(graph, "main", parse_placement(text, 4), inputs);
    for (const TaggedProfile& profile : outcome.profiles) {
      EXPECT_LE(profile.peak_frames, 30) << text;  // a loop needs no stack
    }
  }
}

TEST(Partitioned, LoopsInRecursionsAndTheirGradients) {
  Program program;
  const FunctionRef inner = program.define(
      "inner", {kReal, kReal},
      [](const Values& v) { return Values{tanh(v[0]) * v[1] + v[0]}; });
  // f(n, x) = n <= 0 ? x : f(n - 1, inner applied n times to x) + x
  const FunctionRef f = program.declare("f", {{kNumber, kReal}, {kReal}});
  program.define(f, [&](const Values& v) {
    return cond(
        less_equal(v[0], number(0)), [&] { return Values{v[1]}; },
        [&] {
          const Values last = while_loop(
              {number(0), v[1]},
              [&](const Values& s) { return less(s[0], v[0]); },
              [&](const Values& s) {
                return Values{s[0] + 1, test::call_one(inner, {s[1], v[1]})};
              });
          return Values{test::call_one(f, {v[0] - 1, last[1]}) + v[1]};
        });
  });
  program.define("main", {kNumber, kReal}, [&](const Values& v) {
    const Value y = test::call_one(f, v);
    const Value g = gradients(y, {&v[1], 1})[0];
    return Values{y, g, gradients(g, {&v[1], 1})[0]};
  });
  const Graph graph = program.build();
  const std::vector<Tensors> inputs{
      {Tensor::scalar<std::int64_t>(0), Tensor::scalar(0.3)},
      {Tensor::scalar<std::int64_t>(3), Tensor::scalar(0.2)}};
  const auto outcome = expect_as_on_one(
      graph, "main", parse_placement("inner=1 f=2", 3), inputs);
  NestedCalls nested(graph);
  const Tensors expected = nested.run("main", inputs[1]);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(outcome.results[1][i].item(), expected[i].item(),
                1e-9 * std::abs(expected[i].item()));
  }
}

TEST(Partitioned, ResultsDoNotDependOnWhenMessagesCome) {
  const Graph graph = tree_program();
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    expect_as_on_one(graph, "step", kTreeOnThree, {random_tree(9, seed)},
                     {.most_delay = 5e-4, .seed = seed});
  }
}

TEST(Partitioned, GathersWhatIsReadyIfAskedTo) {
  const Graph graph = tree_program();
  const auto inputs = trees();
  const auto outcome = run_parts(graph, "step", kTreeOnThree, inputs, {},
                                 {.batching = Batching::kAlways});
  NestedCalls nested(graph);
  for (std::size_t run = 0; run < inputs.size(); ++run) {
    const Tensors expected = nested.run("step", inputs[run]);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::near(outcome.results[run][i], expected[i], 2e-5));
    }
  }
}

// Large tensors go from and to their own memory.
TEST(Partitioned, TensorsOfAnySizeCross) {
  const TensorType large{DType::kF32, {300, 100}};
  const TensorType none{DType::kF32, {0, 3}};
  Program program;
  const FunctionRef twice =
      program.define("twice", {large, none}, [](const Values& v) {
        return Values{v[0] * 2, v[1] * 2};
      });
  program.define("main", {large, none}, [&](const Values& v) {
    const Values both = call(twice, v);
    return Values{both[0] + 1, both[1] + 1, v[0]};
  });
  RankPlacement placement{.ranks = 2, .functions = {{"twice", 1}}};
  placement.results = {0, 1, 1};
  expect_as_on_one(program.build(), "main", placement,
                   {{test::pattern({300, 100}), test::pattern({0, 3})}});
}

// Runs the parts; gives the texts of what each rank threw.
std::vector<std::string> errors_of(const Graph& graph, std::string_view entry,
                                   const RankPlacement& placement,
                                   const Tensors& arguments,
                                   const ThreadWorldOptions& world_options,
                                   const TaggedOptions& options,
                                   const EngineOptions& engine_options = {}) {
  std::vector<std::string> errors(static_cast<std::size_t>(placement.ranks));
  ThreadWorld world(placement.ranks, world_options);
  const std::string first = test::message_of([&] {
    world.run([&](Transport& transport) {
      Engine engine(transport, engine_options);
      Communicator all(transport);
      Partitioned parts(graph, entry, types_of(arguments), placement, all,
                        engine, options);
      try {
        parts.run(arguments);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(transport.rank())] = error.what();
        throw;
      }
    });
  });
  EXPECT_NE(first, "nothing was thrown");
  return errors;
}

void expect_parts(const std::string& text,
                  std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos)
        << "'" << part << "' is not in: " << text;
  }
}

TEST(Partitioned, AnErrorEndsTheRunOnAllRanksWithItsCalls) {
  Program program;
  const FunctionRef f = program.declare("endless", {{kReal}, {kReal}});
  program.define(f, [&](const Values& x) {
    return cond(
        less(x[0], test::real(-1)), [&] { return Values{x[0]}; },
        [&] { return Values{test::call_one(f, {abs(x[0])}) + 1}; });
  });
  program.define("other", {kReal}, [](const Values& x) { return x; });
  program.define("main", {kReal},
                 [&](const Values& x) { return Values{test::call_one(f, x)}; });
  const auto errors =
      errors_of(program.build(), "main", parse_placement("endless=1", 3),
                {Tensor::scalar(1.0)}, {}, {.max_frames = 100});
  expect_parts(errors[1],
               {"more than 100 activations", "in @endless", "called by @main"});
  expect_parts(errors[0], {"rank 1", "more than 100 activations", "@endless"});
  expect_parts(errors[2], {"rank 1", "more than 100 activations", "@endless"});
}

TEST(Partitioned, ARankThatDiesIsNamed) {
  for (const std::uint64_t sends : {1u, 4u, 9u}) {
    const auto errors =
        errors_of(tree_program(), "step", kTreeOnThree, random_tree(20, 5),
                  {.death = {.rank = 2, .sends = sends}}, {});
    expect_parts(errors[0], {"rank 2"});
    expect_parts(errors[1], {"rank 2"});
  }
}

// Rank 1 takes a nap in each unit of work that is longer than the timeout.
TEST(Partitioned, SilenceNamesWhatIsMissing) {
  const Graph graph = tree_program();
  const Tensors arguments = random_tree(8, 5);
  std::atomic<bool> is_over{false};
  std::string error;
  ThreadWorld world(2);
  const std::string first = test::message_of([&] {
    world.run([&](Transport& transport) {
      // Long enough for the ranks to agree on a busy machine: only then does
      // one of them fall silent.
      Engine engine(transport, {.timeout = 1, .ask_after = 0.02});
      Communicator all(transport);
      TaggedOptions options;
      if (transport.rank() == 1) {
        options.before_work = [&] { is_over.wait(false); };
      }
      Partitioned parts(graph, "loss", types_of(arguments),
                        parse_placement("leaf=1 *=0", 2), all, engine, options);
      try {
        parts.run(arguments);
      } catch (const Error& thrown) {
        if (transport.rank() == 0) {
          error = thrown.what();
          is_over = true;
          is_over.notify_all();
        }
        throw;
      }
    });
  });
  expect_parts(first, {"rank 1 has not answered"});
  expect_parts(error,
               {"rank 1 has not answered", "run of @loss", "waiting for ",
                "f32[6], in @", "of rank 1", "in @tree", "called by @loss"});
}

TEST(Partitioned, RanksThatCutDifferentGraphsAreToldSo) {
  const Graph graph = tree_program();
  const Tensors arguments = random_tree(8, 5);
  ThreadWorld world(2);
  expect_error(ErrorCode::kInvalidArgument,
               {"different operations", "run of @loss"}, [&] {
                 world.run([&](Transport& transport) {
                   Engine engine(transport, {.timeout = 20, .ask_after = 0.01});
                   Communicator all(transport);
                   Partitioned parts(
                       graph, "loss", types_of(arguments),
                       parse_placement(
                           transport.rank() == 0 ? "leaf=1" : "combine=1", 2),
                       all, engine);
                   parts.run(arguments);
                 });
               });
}

TEST(Partitioned, ARunThatIsStoppedStopsOnAllRanks) {
  std::stop_source source;
  Program program;
  const FunctionRef next = program.define(
      "next", {kNumber}, [](const Values& n) { return Values{n[0] + 1}; });
  program.define("main", {kNumber}, [&](const Values& n) {
    return while_loop(
        n, [](const Values& s) { return less(s[0], number(1'000'000'000)); },
        [&](const Values& s) { return call(next, s); });
  });
  const Graph graph = program.build();
  std::atomic<int> works{0};
  ThreadWorld world(2);
  expect_error(ErrorCode::kCancelled, {"@main", "stopped"}, [&] {
    world.run([&](Transport& transport) {
      Engine engine(transport);
      Communicator all(transport);
      Partitioned parts(graph, "main", std::vector{kNumber},
                        parse_placement("next=1", 2), all, engine,
                        {.before_work = [&] {
                          if (++works == 1000) source.request_stop();
                        }});
      const std::stop_token stop =
          transport.rank() == 0 ? source.get_token() : std::stop_token();
      parts.run(numbers({0}), stop);
    });
  });
}

TEST(Partitioned, RefusesWhatDoesNotFit) {
  const Graph graph = tree_program();
  const Tensors arguments = random_tree(2, 1);
  const auto types = types_of(arguments);
  ThreadWorld world(2);
  world.run([&](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    const auto make = [&](const RankPlacement& placement) {
      return Partitioned(graph, "loss", types, placement, all, engine);
    };
    expect_error(ErrorCode::kInvalidArgument,
                 {"declines 2 ranks, because it is for 3"},
                 [&] { make({.ranks = 3}); });
    expect_error(ErrorCode::kInvalidArgument,
                 {"no function laef", "did you mean leaf?"},
                 [&] { make(parse_placement("laef=1", 2)); });
    RankPlacement placement = parse_placement("leaf=1", 2);
    placement.arguments = {RankPlacement::kEverywhere};
    Partitioned parts(graph, "loss", types, placement, all, engine);
    expect_error(ErrorCode::kInvalidArgument, {"argument 0", "it is missing"},
                 [&] { parts.run(Tensors(arguments.size())); });
    expect_error(ErrorCode::kInvalidArgument, {"takes 6 arguments, not 1"},
                 [&] { parts.run(Tensors(1)); });
  });
}

}  // namespace
}  // namespace weft::partitioned_test
