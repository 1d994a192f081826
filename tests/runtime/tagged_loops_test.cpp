// Loops, and loops and recursion inside each other; what a region of scalars
// computes; the face of all of it.
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/nested_calls.h"
#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/runtime/executable.h"
#include "weft/runtime/tagged/scalar_program.h"

namespace weft::tagged_loops_test {
namespace {

using test::kNumber;
using test::kReal;
using test::near;
using test::NestedCalls;
using test::number;
using test::pattern;
using test::real;
using test::Values;

Tensor tensor(std::int64_t value) { return Tensor::scalar(value); }

// main(n) = the sum of 1 to n, by a loop.
Graph loop() {
  Program program;
  program.define("main", {kNumber}, [](const Values& n) {
    const Values last = while_loop(
        {number(0), number(0)},
        [&](const Values& v) { return less(v[0], n[0]); },
        [](const Values& v) {
          return Values{v[0] + 1, v[1] + v[0] + 1};
        });
    return Values{last[1]};
  });
  return program.build();
}

TEST(TaggedLoops, NeedTheMemoryOfTwoIterations) {
  TaggedExecutor executor(lower(loop(), "main", std::vector{kNumber}),
                          {.workers = 1});
  const std::int64_t n = 100'000;
  EXPECT_EQ(executor.run({{tensor(n)}})[0].item(), n * (n + 1) / 2);
  EXPECT_LE(executor.profile().peak_frames, 4);
  EXPECT_EQ(executor.profile().live_frames, 0);
  EXPECT_EQ(executor.run({{tensor(0)}})[0].item(), 0);
}

TEST(TaggedLoops, RecursionInALoopAndALoopInARecursion) {
  Program program;
  const FunctionRef fib = test::add_fibonacci(program);
  // f(n) = n <= 0 ? 0 : (fib(0) + … + fib(n - 1)) + f(n - 1)
  const FunctionRef f = program.declare("f", {{kNumber}, {kNumber}});
  program.define(f, [&](const Values& n) {
    return cond(
        less_equal(n[0], number(0)), [&] { return Values{number(0)}; },
        [&] {
          const Values last = while_loop(
              {number(0), number(0)},
              [&](const Values& v) { return less(v[0], n[0]); },
              [&](const Values& v) {
                return Values{v[0] + 1, v[1] + test::call_one(fib, {v[0]})};
              });
          return Values{last[1] + test::call_one(f, {n[0] - 1})};
        });
  });
  const Graph graph = program.build();
  NestedCalls nested(graph);
  for (const int workers : {1, 3}) {
    TaggedExecutor executor(lower(graph, "f", std::vector{kNumber}),
                            {.workers = workers});
    for (const std::int64_t n : {0, 1, 5, 9}) {
      EXPECT_EQ(executor.run({{tensor(n)}})[0].item(),
                nested.run("f", {{tensor(n)}})[0].item());
      EXPECT_EQ(executor.profile().live_frames, 0);
    }
  }
}

TEST(TaggedLoops, ScansAndTheirGradients) {
  Program program;
  const TensorType rows{DType::kF32, {symbol("T"), 3}};
  const TensorType row{DType::kF32, {3}};
  program.define("main", {row, rows, row}, [](const Values& v) {
    const Values out =
        scan({v[0]}, {v[1]}, [&](const Values& h, const Values& x) {
          const Value next = tanh(h[0] * v[2] + x[0]);
          return Values{next, next * 2};
        });
    const Value loss = sum(square(out[0])) + sum(out[1]);
    Values results{loss, out[1]};
    for (Value& g : gradients(loss, v)) results.push_back(std::move(g));
    return results;
  });
  const Graph graph = program.build();
  NestedCalls nested(graph);
  Executable executable(graph, "main");
  for (const Dim steps : {1, 4, 7}) {
    const std::vector<Tensor> arguments{pattern({3}), pattern({steps, 3}),
                                        pattern({3}, -1, 1, 5)};
    const auto expected = nested.run("main", arguments);
    const auto actual = executable.run(arguments);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_TRUE(near(actual[i], expected[i], 1e-5)) << "result " << i;
    }
  }
}

// A region of scalars gives the bits of a plan.
template <class T>
void expect_bits_of_a_plan(const std::vector<T>& samples) {
  FunctionBuilder builder("f");
  const TensorType type{dtype_of<T>(), {}};
  const Function function = builder.build([&] {
    const Value a = builder.parameter(type);
    const Value b = builder.parameter(type);
    const Value c = where(logical_and(less(a, b), not_equal(a, b)), a * b, a);
    return Values{a + b,
                  a - b,
                  a / b,
                  maximum(a, b),
                  minimum(a, b),
                  negate(a),

                  square(a) - c,
                  relu(a),
                  equal(a, b),
                  c,
                  greater_equal(a, b),
                  logical_not(less_equal(a, b)),
                  a * 3};
  });
  auto program = ScalarProgram::of(function);
  ASSERT_TRUE(program.has_value());
  Executable plan(function);
  for (const T a : samples) {
    for (const T b : samples) {
      const std::vector<Tensor> arguments{Tensor::scalar(a), Tensor::scalar(b)};
      const auto expected = plan.run(arguments);
      std::memcpy(&program->parameters()[0], &a, sizeof(T));
      std::memcpy(&program->parameters()[1], &b, sizeof(T));
      program->run();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::uint64_t word = program->result(i);
        EXPECT_EQ(std::memcmp(&word, expected[i].raw(), expected[i].bytes()), 0)
            << "result " << i << " of " << a << ", " << b;
      }
    }
  }
}

TEST(TaggedLoops, ScalarsHaveTheBitsOfAPlan) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> real_number(-3, 3);
  std::vector<float> floats{0.0f, -0.0f, 1.0f, 1e-38f, 3e38f, -7.25f};
  std::vector<double> doubles{0.0, -0.0, 1.0, 1e-308, 1e300, -7.25};
  std::vector<std::int64_t> integers{0, 1, -1, 7, INT64_MIN, INT64_MAX};
  for (int i = 0; i < 10; ++i) {
    floats.push_back(static_cast<float>(real_number(random)));
    doubles.push_back(real_number(random));
    integers.push_back(static_cast<std::int64_t>(random()) - 2'000'000'000);
  }
  expect_bits_of_a_plan(floats);
  expect_bits_of_a_plan(doubles);
  expect_bits_of_a_plan(integers);
  expect_bits_of_a_plan(std::vector<std::int32_t>{0, 1, -1, INT32_MIN, 77});
}

// Random expressions of calls, branches and arithmetic.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  Graph build() {
    Program program;
    const std::size_t count = 2 + pick(3);
    for (std::size_t i = 0; i < count; ++i) {
      functions_.push_back(program.declare(
          fmt::format("f{}", i), {{kNumber, kReal, kReal}, {kReal, kReal}}));
    }
    for (const FunctionRef& function : functions_) {
      program.define(function, [&](const Values& v) {
        return cond(
            less_equal(v[0], number(0)),
            [&] {
              return Values{v[1], v[1] - v[2]};
            },
            [&] {
              fuel_ = v[0];
              Values known{v[1], v[2]};
              for (int i = 0; i < 4; ++i) grow(known);
              return Values{any(known), any(known)};
            });
      });
    }
    return program.build();
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  Value any(const Values& known) { return known[pick(known.size())]; }

  void grow(Values& known) {
    const Value a = any(known);
    const Value b = any(known);
    switch (pick(5)) {
      case 0:
        known.push_back(a * 0.5 + b * 0.25);
        break;
      case 1:
        known.push_back(sin_like(a) - b * 0.125);
        break;
      case 2: {
        const Values both = cond(
            less(a, b),
            [&] {
              return Values{a * 0.5, b};
            },
            [&] {
              return Values{b, a + 1};
            });
        known.insert(known.end(), both.begin(), both.end());
        break;
      }
      default: {
        const Values both =
            call(functions_[pick(functions_.size())],
                 Values{fuel_ - 1 - static_cast<double>(pick(2)), a, b});
        known.insert(known.end(), both.begin(), both.end());
      }
    }
  }
  static Value sin_like(const Value& x) { return tanh(x) * x; }

  std::mt19937 random_;
  std::vector<FunctionRef> functions_;
  Value fuel_;
};

TEST(TaggedLoops, RandomProgramsAgreeWithNestedCalls) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Graph graph = RandomProgram(seed).build();
    NestedCalls nested(graph);
    const std::vector<Tensor> arguments{tensor(4), Tensor::scalar(0.7),
                                        Tensor::scalar(-0.3)};
    const auto expected = nested.run("f0", arguments);
    for (const int workers : {1, 2}) {
      TaggedExecutor executor(
          lower(graph, "f0", std::vector{kNumber, kReal, kReal}),
          {.workers = workers});
      const auto actual = executor.run(arguments);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(near(actual[i], expected[i], 1e-12)) << "seed " << seed;
      }
      EXPECT_EQ(executor.profile().live_frames, 0);
    }
  }
}

TEST(TaggedLoops, ExecutableTakesGraphs) {
  Executable executable(loop(), "main");
  EXPECT_EQ(executable.run({{tensor(10)}})[0].item(), 55);
  EXPECT_EQ(executable.tagged_for({{tensor(3)}}).profile().live_frames, 0);
  test::expect_error(ErrorCode::kUnsupported, {"no single plan", "tagged_for"},
                     [&] { executable.plan_for({{tensor(3)}}); });
  test::expect_error(ErrorCode::kInvalidArgument, {"@other"},
                     [] { Executable(loop(), "other"); });
}

TEST(TaggedLoops, ResultsHaveMemoryOfTheirOwn) {
  const TensorType vector{DType::kF32, {4}};
  Program program;
  program.define("main", {kNumber, vector}, [](const Values& v) {
    const Value one = cond(
        less(v[0], number(3)), [&] { return Values{v[1] * 2.0}; },
        [&] { return Values{v[1]}; })[0];
    return Values{one, reshape(one, {2, 2}), one, v[1]};
  });
  Executable executable(program.build(), "main");
  for (const std::int64_t n : {1, 5}) {
    const Tensor x = pattern({4});
    const auto results = executable.run(std::vector{tensor(n), x});
    std::set<const void*> places{x.raw()};
    for (const Tensor& result : results) {
      EXPECT_TRUE(places.insert(result.raw()).second);
      EXPECT_EQ(
          result.item(1),
          results[0].item(1) * (&result == &results[3] && n == 1 ? 0.5 : 1));
    }
  }
}

TEST(TaggedLoops, DonatedArgumentsAreOverwrittenLast) {
  // Both are swapped until n is 0, and each result is the other's donor.
  Program program;
  const TensorType vector{DType::kF32, {4}};
  program.define("main", {kNumber, vector, vector}, [](const Values& v) {
    const Values last = while_loop(
        {v[0], v[1], v[2]},
        [](const Values& x) { return greater(x[0], number(0)); },
        [](const Values& x) {
          return Values{x[0] - 1, x[2], x[1]};
        });
    return Values{last[1], last[2]};
  });
  Executable executable(program.build(), "main", {.donated = {{1, 0}, {2, 1}}});
  const Tensor a = pattern({4});
  const Tensor b = pattern({4}, 5, 6);
  const Tensor old_a = a.clone();
  const Tensor old_b = b.clone();
  const auto results = executable.run(std::vector{tensor(3), a, b});
  EXPECT_TRUE(results[0].shares_memory_with(a));
  EXPECT_TRUE(identical(results[0], old_b));
  EXPECT_TRUE(identical(results[1], old_a));
}

}  // namespace
}  // namespace weft::tagged_loops_test
