// Rows that are added to tables where these lie: in regions, and in what
// becomes of loops.
#include "weft/compiler/flat/row_sums.h"

#include <gtest/gtest.h>

#include "tests/support/nested_calls.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/graph/builder.h"
#include "weft/graph/program.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/runtime/tagged/layout.h"
#include "weft/runtime/tagged/runner.h"

namespace weft::row_sums_test {
namespace {

using test::NestedCalls;
using Values = std::vector<Value>;

constexpr std::int64_t kRows = 20'000;
const TensorType kTable{DType::kF32, {kRows, 2}};
const TensorType kRow{DType::kF32, {3, 2}};
const TensorType kIndices{DType::kI32, {3}};

Function region_of(const std::function<Values(const Values&)>& body) {
  FunctionBuilder builder("region");
  const Values parameters{builder.parameter(kTable), builder.parameter(kRow),
                          builder.parameter(kIndices)};
  return builder.build([&] { return body(parameters); });
}

TEST(RowSums, RowsAreAddedToTheTotal) {
  const Function region = region_of([](const Values& v) {
    return Values{v[1] * 2.0, scatter_add(v[1], v[2], kRows)};
  });
  const WithTotals made = add_to_totals(region, {false, true});
  EXPECT_EQ(made.results, std::vector<std::size_t>{1});
  EXPECT_TRUE(made.adds(1));
  EXPECT_FALSE(made.adds(0));
  Plan plan(made.function, {.donated = made.donated});
  EXPECT_LT(plan.arena_bytes(), kTable.bytes() / 10);

  const Tensor table = Tensor::zeros(kTable);
  const Tensor rows = test::pattern({3, 2});
  const Tensor indices = Tensor::of<std::int32_t>({3}, {7, 19'999, 7});
  const Tensor total = test::pattern({kRows, 2}, 1, 2);
  const Tensor before = total.clone();
  const Tensor doubled = Tensor::empty(kRow);
  const Tensor arena =
      Tensor::empty({DType::kU8, {static_cast<Dim>(plan.arena_bytes())}});
  const std::vector<void*> arguments{table.raw(), rows.raw(), indices.raw(),
                                     total.raw()};
  const std::vector<void*> results{doubled.raw(), total.raw()};
  plan.run(arguments, results, arena.raw());
  for (std::int64_t i = 0; i < total.size(); ++i) {
    double added = 0;
    if (i / 2 == 7) added = rows.item(i % 2) + rows.item(4 + i % 2);
    if (i / 2 == 19'999) added = rows.item(2 + i % 2);
    EXPECT_NEAR(total.item(i), before.item(i) + added, 1e-6);
  }
}

TEST(RowSums, OnlyRowsOfTheFirstAxisThatGoNowhereElse) {
  const Function region = region_of([](const Values& v) {
    const Value rows = scatter_add(v[1], v[2], kRows);
    const Value columns = scatter_add(transpose(v[1], {1, 0}), v[2], 9, 1);
    return Values{rows, columns, v[1] + 1.0, v[0]};
  });
  const auto added = [&](const std::vector<bool>& is_accumulated) {
    return add_to_totals(region, is_accumulated).results;
  };
  EXPECT_TRUE(added({false, true, true, true}).empty());
  EXPECT_EQ(added({true, true, true, true}), std::vector<std::size_t>{0});
}

TEST(RowSums, TablesThatChange) {
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  EXPECT_EQ(changed_tables(region_of([](const Values& v) {
              return Values{v[1] + 1.0, add_rows(v[0], v[1], v[2])};
            })),
            (Pairs{{0, 1}}));
  EXPECT_EQ(changed_tables(region_of([](const Values& v) {
              return Values{v[0], add_rows(v[0] + 1.0, v[1], v[2])};
            })),
            Pairs{});
  // Under another shape it is the same table, but not as another result.
  const auto halved = [](const Values& v) {
    const Shape half{kRows * 2, 1};
    return add_rows(reshape(v[0], half), reshape(v[1], {6, 1}),
                    concat(std::vector{v[2], v[2]}, 0));
  };
  EXPECT_EQ(changed_tables(region_of([&](const Values& v) {
              return Values{reshape(halved(v), v[0].shape())};
            })),
            (Pairs{{0, 0}}));
  EXPECT_EQ(changed_tables(
                region_of([&](const Values& v) { return Values{halved(v)}; })),
            Pairs{});
}

// y_t = w x_t + y_(t - 1), and all of them squared.
Graph running_sums(std::int64_t steps, bool with_gradient) {
  const TensorType xs{DType::kF32, {steps, 2}};
  const TensorType w{DType::kF32, {2}};
  Program program;
  program.define("main", {xs, w}, [&](const Values& v) {
    const Values found =
        scan({zeros_like(v[1])}, {v[0]}, [&](const Values& c, const Values& x) {
          const Value next = c[0] + x[0] * v[1];
          return Values{next, next * next, x[0]};
        });
    const Value loss = sum(found[1] * found[2]);
    if (!with_gradient) return Values{found[0], found[1], found[2]};
    Values results{loss};
    for (Value& gradient : gradients(loss, v)) {
      results.push_back(std::move(gradient));
    }
    return results;
  });
  return program.build();
}

// In no step of a scan, nor of its gradient, is there a buffer or a result as
// large as what is scanned, if the executor overwrites what it may.
TEST(RowSums, AStepOfAScanCostsTheSameInLongOnes) {
  for (const bool with_gradient : {false, true}) {
    const FlatGraph flat =
        lower(running_sums(kRows, with_gradient), "main",
              std::vector<TensorType>{kTable, {DType::kF32, {2}}});
    const ProgramLayout program(flat);
    std::size_t tables = 0;
    for (const Layout& layout : program.bodies) {
      if (layout.body == 0) continue;
      if (layout.name.find(".steps") == std::string::npos) continue;
      for (const Work& work : layout.works) {
        if (work.kind != FlatKind::kRegion) continue;
        const Function& region =
            flat.regions[static_cast<std::size_t>(work.region)].function;
        RegionRunner runner(region, {}, accumulated_results(layout, work));
        if (runner.scalar() != nullptr) continue;
        EXPECT_LT(runner.plan_in_place().arena_bytes(), kTable.bytes() / 4)
            << to_string(flat);
        for (std::size_t i = 0; i < region.results().size(); ++i) {
          if (region.type(region.results()[i]).bytes() < kTable.bytes()) {
            continue;
          }
          ++tables;
          EXPECT_TRUE(runner.adds(i) || runner.table_of(i)) << to_string(flat);
        }
      }
    }
    EXPECT_EQ(tables, with_gradient ? 3u : 2u);
  }
}

// A table that an iteration makes two of, or also passes on under another
// shape, is overwritten by neither.
TEST(RowSums, TablesThatSeveralResultsComeFromAreCopied) {
  const auto as_pairs = [](const Value& x) { return reshape(x, {kRows, 2}); };
  const auto next = [&](bool is_passed_on, const Value& row, const Value& i,
                        const Value& table) {
    const Value more = add_rows(table, row, i);
    return is_passed_on ? Values{more, reshape(table, {2 * kRows})}
                        : Values{more, reshape(add_rows(table, row * 2.0, i),
                                               {2 * kRows})};
  };
  for (const bool is_passed_on : {false, true}) {
    Program program;
    program.define("main", {kTable, kRow, kIndices}, [&](const Values& v) {
      const Values last = while_loop(
          {Value(Tensor::scalar(0.f)), v[0] * 2.0,
           reshape(v[0], {2 * kRows}) * 3.0},
          [](const Values& x) {
            return less(x[0], Value(Tensor::scalar(3.f)));
          },
          [&](const Values& x) {
            Values carried = next(is_passed_on, v[1], v[2], x[1]);
            carried.insert(carried.begin(), x[0] + 1.0);
            return carried;
          });
      return Values{last[1], as_pairs(last[2])};
    });
    const Graph graph = program.build();
    const std::vector<Tensor> arguments{
        test::pattern({kRows, 2}), test::pattern({3, 2}, 1, 2),
        Tensor::of<std::int32_t>({3}, {7, 1, 7})};
    NestedCalls nested(graph);
    const auto expected = nested.run("main", arguments);
    const auto actual = Executable(graph, "main").run(arguments);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::near(actual[i], expected[i], 1e-5)) << i;
    }
  }
}

TEST(RowSums, ScansAreAsTheyWere) {
  constexpr std::int64_t kSteps = 200;
  for (const bool with_gradient : {false, true}) {
    const Graph graph = running_sums(kSteps, with_gradient);
    const std::vector<Tensor> arguments{test::pattern({kSteps, 2}, -0.1, 0.1),
                                        test::pattern({2})};
    const std::vector<Tensor> kept{arguments[0].clone(), arguments[1].clone()};
    NestedCalls nested(graph);
    const auto expected = nested.run("main", arguments);
    Executable main(graph, "main");
    for (int run = 0; run < 2; ++run) {
      const auto actual = main.run(arguments);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(test::near(actual[i], expected[i], 1e-4)) << i;
      }
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_TRUE(identical(arguments[i], kept[i]));
    }
  }
}

}  // namespace
}  // namespace weft::row_sums_test
