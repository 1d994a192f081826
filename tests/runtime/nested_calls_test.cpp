#include "tests/support/nested_calls.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/ops/support/recursion.h"

namespace weft::nested_calls_test {
namespace {

using test::expect_error;
using test::kNumber;
using test::kReal;
using test::NestedCalls;
using test::NestedCallsOptions;
using test::numbers;
using test::Values;

std::int64_t run_number(NestedCalls& calls, std::string_view function,
                        std::initializer_list<std::int64_t> arguments) {
  std::vector<Tensor> tensors;
  for (const std::int64_t argument : arguments) {
    tensors.push_back(Tensor::scalar(argument));
  }
  return calls.run(function, tensors).at(0).data<std::int64_t>()[0];
}

template <class Add>
NestedCalls calls_of(Add&& add, NestedCallsOptions options = {}) {
  Program program;
  add(program);
  return NestedCalls(program.build(), options);
}

TEST(NestedCalls, ComputeKnownRecursions) {
  auto fib = calls_of(test::add_fibonacci);
  EXPECT_EQ(run_number(fib, "fib", {10}), 89);
  EXPECT_EQ(fib.activations("fib"), 177);
  EXPECT_EQ(fib.activations("fib.otherwise"), 88);

  auto ackermann = calls_of(test::add_ackermann);
  EXPECT_EQ(run_number(ackermann, "ackermann", {2, 3}), 9);
  EXPECT_EQ(ackermann.activations("ackermann"), 44);

  auto fac = calls_of(test::add_factorial);
  EXPECT_EQ(fac.run("fac", {{Tensor::scalar(5.0)}})[0].item(), 120);
  EXPECT_EQ(fac.activations("fac"), 5);
  fac.run("fac", {{Tensor::scalar(1.0)}});
  EXPECT_EQ(fac.activations("fac"), 1);
  EXPECT_EQ(fac.activations("fac.otherwise"), 0);
}

TEST(NestedCalls, CallAsOftenAsTheRecursionDoes) {
  auto tak = calls_of(test::add_takeuchi);
  EXPECT_EQ(run_number(tak, "tak", {18, 12, 6}), 7);
  EXPECT_EQ(tak.activations("tak"), 63609);

  auto fib = calls_of(test::add_fibonacci);
  EXPECT_EQ(run_number(fib, "fib", {24}), 75025);
  EXPECT_EQ(fib.activations("fib"), 150049);
}

TEST(NestedCalls, RunMutualRecursion) {
  auto calls = calls_of([](Program& program) {
    const FunctionRef f = program.declare("F", {{kNumber}, {kNumber}});
    const FunctionRef g = program.declare("G", {{kNumber}, {kNumber}});
    program.define(f, [&](const Values& n) {
      return cond(
          less_equal(n[0], test::number(1)),
          [&] { return Values{test::number(1)}; },
          [&] { return call(g, Values{n[0] - 1}); });
    });
    program.define(g, [&](const Values& n) { return call(f, n); });
  });
  EXPECT_EQ(run_number(calls, "F", {4}), 1);
  EXPECT_EQ(calls.activations("G"), 3);
}

// (n!, n) in one recursion.
TEST(NestedCalls, ReturnTwoResults) {
  auto calls = calls_of([](Program& program) {
    const FunctionRef f = program.declare("f", {{kNumber}, {kNumber, kNumber}});
    program.define(f, [&](const Values& n) {
      return cond(
          less_equal(n[0], test::number(0)),
          [&] {
            return Values{test::number(1), test::number(0)};
          },
          [&] {
            const Values below = call(f, Values{n[0] - 1});
            return Values{below[0] * n[0], below[1] + 1};
          });
    });
  });
  const auto results = calls.run("f", {{Tensor::scalar<std::int64_t>(6)}});
  EXPECT_EQ(numbers(results[0]), std::vector<double>{720});
  EXPECT_EQ(numbers(results[1]), std::vector<double>{6});
}

TEST(NestedCalls, SpecialiseACalleeForEachSize) {
  auto calls = calls_of([](Program& program) {
    const TensorType vector{DType::kF64, {symbol("N")}};
    const FunctionRef total = program.define(
        "total", {vector}, [](const Values& x) { return Values{sum(x[0])}; });
    program.define("main", {vector}, [&](const Values& x) {
      const Value twice = concat(Values{x[0], x[0]}, 0);
      return Values{test::call_one(total, x) + test::call_one(total, {twice})};
    });
  });
  for (const std::int64_t size : {3, 4, 3}) {
    const Tensor x = Tensor::of<double>(
        {size}, std::vector<double>(static_cast<std::size_t>(size), 2.0));
    EXPECT_EQ(calls.run("main", {{x}})[0].item(), 6.0 * double(size));
  }
}

// Σ over a vector of 1 + x·i, the running sums, and how many were added.
void add_loops(Program& program) {
  const TensorType vector{DType::kF64, {symbol("N")}};
  for (const bool reverse : {false, true}) {
    program.define(reverse ? "backwards" : "forwards", {kReal, vector},
                   [&](const Values& x) {
                     return scan(
                         {test::real(0), test::number(0)}, {x[1]},
                         [&](const Values& carried, const Values& slices) {
                           const Value next = carried[0] * x[0] + slices[0];
                           return Values{next, carried[1] + 1, next,
                                         less(next, test::real(3))};
                         },
                         reverse);
                   });
  }
  program.define("powers", {kReal, kNumber}, [](const Values& x) {
    return while_loop(
        {test::real(1), x[1]},
        [](const Values& v) { return greater(v[1], test::number(0)); },
        [&](const Values& v) {
          return Values{v[0] * x[0], v[1] - 1};
        });
  });
}

TEST(NestedCalls, RunLoops) {
  auto calls = calls_of(add_loops);
  const Tensor x = Tensor::of<double>({3}, {1, 2, 3});
  const auto forwards = calls.run("forwards", {{Tensor::scalar(2.0), x}});
  EXPECT_EQ(numbers(forwards[0]), std::vector<double>{11});
  EXPECT_EQ(numbers(forwards[1]), std::vector<double>{3});
  EXPECT_EQ(numbers(forwards[2]), (std::vector<double>{1, 4, 11}));
  EXPECT_EQ(numbers(forwards[3]), (std::vector<double>{1, 0, 0}));
  const auto backwards = calls.run("backwards", {{Tensor::scalar(2.0), x}});
  EXPECT_EQ(numbers(backwards[2]), (std::vector<double>{17, 8, 3}));
  EXPECT_EQ(calls
                .run("powers", {{Tensor::scalar(3.0),
                                 Tensor::scalar<std::int64_t>(4)}})[0]
                .item(),
            81);
}

TEST(NestedCalls, LoopsAreWhatTheirRecursiveFormsAre) {
  Program program;
  add_loops(program);
  const Graph graph = program.build();
  const Graph recursive = loops_to_recursion(graph);
  for (const Function& function : recursive.functions) {
    for (const Node& node : function.nodes()) EXPECT_FALSE(is_loop(*node.op));
  }
  NestedCalls loops(graph);
  NestedCalls calls(recursive);
  const auto expect_same = [&](const char* name,
                               std::vector<Tensor> arguments) {
    const auto expected = loops.run(name, arguments);
    const auto actual = calls.run(name, arguments);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_TRUE(identical(actual[i], expected[i])) << name << " " << i;
    }
  };
  for (const Dim size : {0, 1, 5}) {
    const Tensor x = Tensor::zeros({DType::kF64, {size}});
    for (Dim i = 0; i < size; ++i) x.data<double>()[i] = double(i) - 0.5;
    expect_same("forwards", {Tensor::scalar(0.7), x});
    expect_same("backwards", {Tensor::scalar(0.7), x});
  }
  expect_same("powers", {Tensor::scalar(0.7), Tensor::scalar<std::int64_t>(9)});
}

TEST(NestedCalls, SayWhichCallsNestTooDeep) {
  auto calls = calls_of(
      [](Program& program) {
        const FunctionRef f = program.declare("endless", {{kReal}, {kReal}});
        program.define(f, [&](const Values& x) {
          return Values{test::call_one(f, {x[0] + 1}) * 2};
        });
        program.define("main", {kReal},
                       [&](const Values& x) { return call(f, x); });
      },
      {.max_depth = 50});
  for (int i = 0; i < 2; ++i) {
    expect_error(ErrorCode::kExhausted,
                 {"deeper than 50", "called by @endless", "begun with @main"},
                 [&] { calls.run("main", {{Tensor::scalar(1.0)}}); });
  }
}

TEST(NestedCalls, RefuseArgumentsThatDoNotFit) {
  auto calls = calls_of(test::add_factorial);
  EXPECT_THROW(calls.run("fac", {}), Error);
  EXPECT_THROW(calls.run("fac", {{Tensor::scalar(1.0f)}}), Error);
  EXPECT_THROW(calls.run("nothing", {}), Error);
}

// The same C++ runs at once where nothing is built.
TEST(Control, RunsAtOnceOutsideAProgram) {
  const auto power = [](const Value& x, std::int64_t n) {
    return while_loop(
        {test::real(1), test::number(n)},
        [](const Values& v) { return greater(v[1], test::number(0)); },
        [&](const Values& v) {
          return Values{v[0] * x, v[1] - 1};
        })[0];
  };
  EXPECT_EQ(power(test::real(3), 4).tensor().item(), 81);
  const auto sums = scan(
      {test::real(0)}, {Tensor::of<double>({3}, {1, 2, 3})},
      [](const Values& carried, const Values& slices) {
        const Value next = carried[0] * 2 + slices[0];
        return Values{next, next};
      },
      /*reverse=*/true);
  EXPECT_EQ(numbers(sums[1].tensor()), (std::vector<double>{17, 8, 3}));
  const auto choose = [](bool predicate) {
    return cond(
        Tensor::scalar(predicate), [] { return Values{test::real(1)}; },
        [] { return Values{test::real(2)}; })[0];
  };
  EXPECT_EQ(choose(true).tensor().item(), 1);
  EXPECT_EQ(choose(false).tensor().item(), 2);
}

}  // namespace
}  // namespace weft::nested_calls_test
