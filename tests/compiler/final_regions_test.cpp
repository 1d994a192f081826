// Results of a recursion's program that overwrite its arguments.
#include "weft/compiler/flat/final_regions.h"

#include <gtest/gtest.h>

#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/base/parallel.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/ops/control.h"
#include "weft/ops/index.h"
#include "weft/ops/rows.h"
#include "weft/runtime/executable.h"

namespace weft::final_regions_test {
namespace {

using test::kReal;
using test::real;
using test::Values;

const TensorType kRow{DType::kF64, {3}};

// @main(w, x, y) by `body`, which may call factorial.
Graph program_of(const std::function<Values(const FunctionRef& factorial,
                                            const Values& v)>& body) {
  Program program;
  const FunctionRef factorial = test::add_factorial(program);
  program.define("main", {kRow, kReal, kReal},
                 [&](const Values& v) { return body(factorial, v); });
  return program.build();
}

Tensor row(double a, double b, double c) {
  return Tensor::of<double>({3}, {a, b, c});
}

// The results of a run with w donated to the first one.
std::vector<Tensor> run_over(const Graph& graph, const Tensor& w) {
  Executable main(graph, "main", {.donated = {{0, 0}}});
  const std::vector<Tensor> arguments{w, Tensor::scalar(4.0),
                                      Tensor::scalar(3.0)};
  auto results = main.run(arguments);
  EXPECT_EQ(results[0].raw(), w.raw());
  return results;
}

void expect_equal(const Tensor& actual, const Tensor& expected) {
  EXPECT_TRUE(test::near(actual, expected, 1e-12));
}

TEST(FinalRegions, WriteOverAnArgument) {
  const Graph graph = program_of([](const FunctionRef& f, const Values& v) {
    return Values{v[0] * 2 + test::call_one(f, {v[1]})};
  });
  const auto finals = find_final_regions(
      lower(graph, "main", std::vector{kRow, kReal, kReal}), {{0, 0}});
  std::size_t in_place = 0;
  for (const auto& region : finals) {
    if (region) in_place += region->donated.size();
  }
  EXPECT_EQ(in_place, 1u);
  const Tensor w = row(1, 2, 3);
  run_over(graph, w);
  expect_equal(w, row(26, 28, 30));
}

// Two calls of which one is made keep one worker busy, which knows when nobody
// reads an argument any more.
TEST(FinalRegions, CallsInTwoBranchesAreNotParallel) {
  const auto runs_in_place = [](bool in_branches) {
    const Graph graph = program_of([&](const FunctionRef& f, const Values& v) {
      const auto one = [&](std::size_t i) {
        return Values{test::call_one(f, {v[i]})};
      };
      const Value made = in_branches
                             ? cond(
                                   less(v[1], v[2]), [&] { return one(1); },
                                   [&] { return one(2); })[0]
                             : one(1)[0] + one(2)[0];
      return Values{v[0] * 2 + made};
    });
    const int threads = thread_count();
    set_thread_count(3);
    TaggedExecutor executor(
        lower(graph, "main", std::vector{kRow, kReal, kReal}),
        {.donated = {{0, 0}}});
    set_thread_count(threads);
    const std::vector<Tensor> arguments{row(1, 2, 3), Tensor::scalar(4.0),
                                        Tensor::scalar(3.0)};
    const auto results = executor.run(arguments, {arguments.data(), 1});
    expect_equal(results[0], in_branches ? row(8, 10, 12) : row(32, 34, 36));
    return results[0].raw() == arguments[0].raw();
  };
  EXPECT_TRUE(runs_in_place(true));
  EXPECT_FALSE(runs_in_place(false));
}

// A kernel of the region writes over it: no buffer is as large.
TEST(FinalRegions, ChangeRowsOfAnArgument) {
  const TensorType table{DType::kF64, {1000, 4}};
  const TensorType indices{DType::kI64, {3}};
  Program program;
  const FunctionRef factorial = test::add_factorial(program);
  program.define("main", {table, indices, kReal}, [&](const Values& v) {
    const Value rows = gather(v[0], v[1]) * test::call_one(factorial, {v[2]});
    return Values{add_rows(v[0], rows, v[1])};
  });
  const Graph graph = program.build();
  const FlatGraph flat =
      lower(graph, "main", std::vector{table, indices, kReal});
  const auto finals = find_final_regions(flat, {{0, 0}});
  std::size_t in_place = 0;
  for (std::size_t i = 0; i < finals.size(); ++i) {
    if (!finals[i]) continue;
    const Plan plan(flat.regions[i].function, {.donated = finals[i]->donated});
    in_place += finals[i]->donated.size();
    EXPECT_LT(plan.arena_bytes(), table.bytes() / 10);
  }
  EXPECT_EQ(in_place, 1u);
  const Tensor all = Tensor::zeros(table);
  for (std::int64_t i = 0; i < all.size(); ++i) {
    all.data<double>()[i] = static_cast<double>(i);
  }
  Executable main(graph, "main", {.donated = {{0, 0}}});
  main.run(std::vector{all, Tensor::of<std::int64_t>({3}, {1, 1, 999}),
                       Tensor::scalar(4.0)});
  EXPECT_EQ(all.item(0), 0);
  EXPECT_EQ(all.item(5), 5 + 2 * 24 * 5);
  EXPECT_EQ(all.item(3999), 3999 * 25);
}

// Two regions at the end, for they wait for different calls.
TEST(FinalRegions, OtherResultsSeeTheArgumentAsItWas) {
  const Graph graph = program_of([](const FunctionRef& f, const Values& v) {
    return Values{v[0] * 2 + test::call_one(f, {v[1]}),
                  v[0] + test::call_one(f, {v[2]})};
  });
  const Tensor w = row(1, 2, 3);
  const auto results = run_over(graph, w);
  expect_equal(w, row(26, 28, 30));
  expect_equal(results[1], row(7, 8, 9));
}

TEST(FinalRegions, AnArgumentThatIsReturnedIsKept) {
  const Graph graph = program_of([](const FunctionRef& f, const Values& v) {
    return Values{v[0] * 2 + test::call_one(f, {v[1]}), v[0]};
  });
  const Tensor w = row(1, 2, 3);
  const auto results = run_over(graph, w);
  expect_equal(w, row(26, 28, 30));
  expect_equal(results[1], row(1, 2, 3));
}

// A result that another one is computed from is in nobody's way.
TEST(FinalRegions, ResultsMayDependOnEachOther) {
  const Graph graph = program_of([](const FunctionRef& f, const Values& v) {
    const Value first = v[0] * test::call_one(f, {v[1]});
    const Value second = first + test::call_one(f, {v[2]});
    return Values{first, second, v[0] + second};
  });
  const Tensor w = row(1, 2, 3);
  const auto results = run_over(graph, w);
  expect_equal(w, row(24, 48, 72));
  expect_equal(results[1], row(30, 54, 78));
  expect_equal(results[2], row(31, 56, 81));
}

}  // namespace
}  // namespace weft::final_regions_test
