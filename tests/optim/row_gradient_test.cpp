// Updates of the rows that a batch has looked up, against updates of the whole
// table.
#include "weft/optim/row_gradient.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/optimizer_run.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/optim/wrapper.h"
#include "weft/runtime/executable.h"

namespace weft::row_gradient_test {
namespace {

constexpr std::int64_t kRows = 40;
constexpr std::int64_t kWidth = 3;
constexpr double kLr = 0.1;

// Optimizers as recipes name them, with and without weight decay, and each that
// suits it inside of lazy_rows.
std::vector<std::unique_ptr<Optimizer>> all_optimizers() {
  std::vector<std::unique_ptr<Optimizer>> all;
  for (const OptimizerDef& def : optimizer_registry().all()) {
    for (const double decay : {0.0, 0.1}) {
      const auto make = [&] {
        return make_optimizer(def.name, {{"weight_decay", decay}});
      };
      all.push_back(make());
      if (!make()->is_elementwise()) continue;
      all.push_back(wrap_optimizer(make(), {"lazy_rows"}));
    }
  }
  all.push_back(make_optimizer("momentum", {{"momentum", 0.0}}));
  all.push_back(make_optimizer("adagrad", {{"epsilon", 0.0}}));
  all.push_back(wrap_optimizer(make_optimizer("adagrad", {}), {"clip_value"}));
  return all;
}

Tensor indices_of(const std::vector<std::int64_t>& rows) {
  Tensor tensor = Tensor::empty({DType::kI64, {Dim(rows.size())}});
  std::copy(rows.begin(), rows.end(), tensor.data<std::int64_t>());
  return tensor;
}

// The indices of each lookup of a step.
using Lookups = std::vector<Tensor>;

Lookups once(const std::vector<std::int64_t>& rows) {
  return {indices_of(rows)};
}

TensorType type_of_rows(const Tensor& indices) {
  Shape shape = indices.shape();
  shape.push_back(kWidth);
  return {DType::kF32, shape};
}

// (table, slots…, factors and indices of each lookup) -> (table', slots'…),
// where the loss is the sum of the rows looked up, times factors.
Function step_of(const Optimizer& optimizer, std::int64_t rows,
                 const Lookups& lookups, bool by_rows) {
  FunctionBuilder builder("step");
  const TensorType type{DType::kF32, {rows, kWidth}};
  ParameterStep step;
  step.parameter = builder.parameter(type);
  for (const Slot& slot : optimizer.slots({"p", type})) {
    step.slots.push_back(builder.parameter(slot.type));
  }
  std::vector<Value> factors;
  std::vector<Value> indices;
  std::int64_t count = 0;
  for (const Tensor& each : lookups) {
    factors.push_back(builder.parameter(type_of_rows(each)));
    indices.push_back(builder.parameter(each.type()));
    count += each.size();
  }
  return builder.build([&] {
    const Value table = step.parameter;
    Value loss = scalar(0, DType::kF32);
    for (std::size_t i = 0; i < lookups.size(); ++i) {
      loss = loss + sum(gather(table, indices[i]) * factors[i]);
    }
    step.gradient = gradients(loss, {&table, 1})[0];
    EXPECT_TRUE(row_gradient(step.gradient).has_value());
    std::optional<TouchedRows> touched;
    if (by_rows) touched.emplace(optimizer, std::span(&step, 1));
    EXPECT_EQ(step.parameter.shape()[0], by_rows ? count : rows);
    optimizer.update({&step, 1}, {},
                     {scalar(kLr, DType::kF32), scalar(3, DType::kF64)});
    if (by_rows) touched->put_back({&step, 1});
    std::vector<Value> results{step.parameter};
    results.insert(results.end(), step.slots.begin(), step.slots.end());
    return results;
  });
}

// A table, its slots, and factors and indices of each lookup.
std::vector<Tensor> arguments_of(const Optimizer& optimizer, std::int64_t rows,
                                 const Lookups& lookups) {
  std::vector<Tensor> arguments{test::pattern({rows, kWidth})};
  for (const Slot& slot : optimizer.slots({"p", arguments[0].type()})) {
    arguments.push_back(
        test::pattern(slot.type.shape, 0, 1, 6 + arguments.size()));
  }
  for (const Tensor& indices : lookups) {
    arguments.push_back(test::pattern(type_of_rows(indices).shape, -1, 1,
                                      3 + arguments.size()));
    arguments.push_back(indices);
  }
  return arguments;
}

TEST(RowGradient, OptimizersKeepWhatTheySayTheyKeep) {
  std::size_t keeping = 0;
  for (const auto& optimizer : all_optimizers()) {
    if (!optimizer->keeps_without_gradient("p")) continue;
    ++keeping;
    for (const double first : {0.0, 0.3}) {  // slots start at zero
      const Tensor p = test::pattern({50});
      ParameterStep step{.name = "p",
                         .parameter = p,
                         .gradient = Tensor::zeros(p.type()),
                         .slots = {}};
      for (const Slot& slot : optimizer->slots({"p", p.type()})) {
        step.slots.push_back(test::pattern(slot.type.shape, first, 2 * first));
      }
      const std::vector<Value> slots = step.slots;
      optimizer->update({&step, 1}, {},
                        {Tensor::scalar(0.1f), Tensor::scalar(1.0)});
      EXPECT_TRUE(identical(step.parameter.tensor(), p));
      for (std::size_t i = 0; i < slots.size(); ++i) {
        EXPECT_TRUE(identical(step.slots[i].tensor(), slots[i].tensor()));
      }
    }
  }
  // sgd, adagrad plain and clipped, momentum of 0; and eight with lazy rows,
  // with and without decay.
  EXPECT_EQ(keeping, 4u + 2 * 8);
}

TEST(RowGradient, OptimizersThatRememberSayNo) {
  for (const char* name :
       {"momentum", "nesterov", "adam", "adamw", "rmsprop"}) {
    EXPECT_FALSE(make_optimizer(name, {})->keeps_without_gradient("p")) << name;
  }
  for (const char* name : {"sgd", "adagrad"}) {
    EXPECT_FALSE(make_optimizer(name, {{"weight_decay", 1e-4}})
                     ->keeps_without_gradient("p"));
  }
}

std::set<std::int64_t> rows_named(const Lookups& lookups) {
  std::set<std::int64_t> named;
  for (const Tensor& indices : lookups) {
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      const auto row = static_cast<std::int64_t>(indices.item(i));
      named.insert(row < 0 ? row + kRows : row);
    }
  }
  return named;
}

TEST(RowGradient, UpdatesAsTheWholeTableWouldBe) {
  // Once, several times, all the same, none, and from the end; then by several
  // lookups, of indices of other shapes and dtypes.
  const std::vector<Lookups> batches{
      once({5}),
      once({9, 0, 39, 7}),
      once({3, 8, 3, 3, 12, 8, 0, 8}),
      once(std::vector<std::int64_t>(15, 6)),
      once({}),
      once({-4, 0, 36, 39, -40, -1}),
      {indices_of({3, 8, 3}), indices_of({8, 1, 3, 39})},
      {Tensor::of<std::int32_t>({2, 3}, {4, 0, 4, 7, 12, -1}),
       Tensor::of<std::int32_t>({2}, {4, 30}),
       indices_of({12, 39, 5}).reshape({3, 1, 1}),
       indices_of({4}).reshape({})}};
  for (const auto& optimizer : all_optimizers()) {
    if (!optimizer->keeps_without_gradient("p")) continue;
    for (const Lookups& lookups : batches) {
      const auto arguments = arguments_of(*optimizer, kRows, lookups);
      Executable dense(step_of(*optimizer, kRows, lookups, false));
      Executable touched(step_of(*optimizer, kRows, lookups, true));
      const auto expected = dense.run(arguments);
      const auto actual = touched.run(arguments);
      const auto named = rows_named(lookups);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(test::near(actual[i], expected[i], 1e-6));
        for (std::int64_t row = 0; row < kRows; ++row) {
          EXPECT_EQ(identical(actual[i].slice(row, row + 1),
                              arguments[i].slice(row, row + 1)),
                    !named.contains(row))
              << "row " << row;
        }
      }
    }
  }
}

// What is read changes as without the wrapper, by weight decay and momentum
// too; what is not read waits.
TEST(LazyRows, AreTheDenseUpdateOfTheRowsThatAreRead) {
  const Lookups lookups{indices_of({3, 8, 3, -1}),
                        Tensor::of<std::int32_t>({2, 2}, {8, 1, 3, 30})};
  const auto named = rows_named(lookups);
  for (const OptimizerDef& def : optimizer_registry().all()) {
    const auto plain = make_optimizer(def.name, {{"weight_decay", 0.1}});
    if (!plain->is_elementwise()) continue;
    SCOPED_TRACE(def.name);
    const auto lazy = wrap_optimizer(
        make_optimizer(def.name, {{"weight_decay", 0.1}}), {"lazy_rows"});
    const auto arguments = arguments_of(*plain, kRows, lookups);
    const auto expected =
        Executable(step_of(*plain, kRows, lookups, false)).run(arguments);
    for (const bool by_rows : {false, true}) {
      const auto actual =
          Executable(step_of(*lazy, kRows, lookups, by_rows)).run(arguments);
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) {
        for (std::int64_t row = 0; row < kRows; ++row) {
          const Tensor found = actual[i].slice(row, row + 1);
          if (named.contains(row)) {
            EXPECT_TRUE(
                test::near(found, expected[i].slice(row, row + 1), 1e-6));
          } else {
            EXPECT_TRUE(identical(found, arguments[i].slice(row, row + 1)));
          }
        }
      }
    }
  }
}

// A row is that of the first axis, whatever the others are; of a vector it is
// an element. What is no number is a gradient.
TEST(LazyRows, OfAnyRank) {
  const auto after = [](const Tensor& p, const Tensor& gradient) {
    test::OptimizerRun run(
        wrap_optimizer(make_optimizer("sgd", {{"weight_decay", 0.5}}),
                       {"lazy_rows"}),
        {p});
    run.step({gradient}, 1);
    return run.parameter();
  };
  EXPECT_TRUE(identical(after(Tensor::of<float>({2, 1, 2}, {4, 8, 4, 8}),
                              Tensor::of<float>({2, 1, 2}, {0, 1, 0, 0})),
                        Tensor::of<float>({2, 1, 2}, {2, 3, 4, 8})));
  EXPECT_TRUE(identical(
      after(Tensor::of<float>({2}, {4, 8}), Tensor::of<float>({2}, {1, 0})),
      Tensor::of<float>({2}, {1, 8})));
  EXPECT_TRUE(std::isnan(after(Tensor::of<float>({1, 2}, {1, 1}),
                               Tensor::of<float>({1, 2}, {NAN, 0}))
                             .item()));
  EXPECT_TRUE(identical(after(Tensor::zeros({DType::kF32, {0, 3}}),
                              Tensor::zeros({DType::kF32, {0, 3}})),
                        Tensor::zeros({DType::kF32, {0, 3}})));
}

TEST(LazyRows, RefuseWhatLooksAtMoreThanItsRow) {
  for (const char* name : {"lamb", "lars", "adafactor", "prodigy"}) {
    test::expect_error(
        ErrorCode::kInvalidArgument, {"moves rows by more than"},
        [&] { wrap_optimizer(make_optimizer(name, {}), {"lazy_rows"}); });
  }
  test::expect_error(
      ErrorCode::kInvalidArgument, {"put lazy_rows before others"}, [&] {
        wrap_optimizer(make_optimizer("sgd", {}), {"lookahead", "lazy_rows"});
      });
}

// In a plan that may overwrite it, no buffer is as large as the table.
TEST(RowGradient, TheTableIsNeverCopied) {
  constexpr std::int64_t kMany = 100'000;
  const Lookups lookups{indices_of({5, 70'000, 5, 1}), indices_of({2, 3, 6})};
  const auto expect_in_place =
      [&](const std::unique_ptr<Optimizer>& optimizer,
          const std::vector<std::pair<std::size_t, std::size_t>>& donated) {
        Executable executable(step_of(*optimizer, kMany, lookups, true),
                              {.donated = donated});
        const auto arguments = arguments_of(*optimizer, kMany, lookups);
        const Tensor before = arguments[0].clone();
        const auto results = executable.run(arguments);
        EXPECT_EQ(results[0].raw(), arguments[0].raw());
        EXPECT_FALSE(identical(results[0], before));
        EXPECT_LT(executable.plan_for(arguments).arena_bytes(),
                  before.bytes() / 10);
      };
  expect_in_place(make_optimizer("adagrad", {}), {{0, 0}, {1, 1}});
  expect_in_place(wrap_optimizer(make_optimizer("adamw", {}), {"lazy_rows"}),
                  {{0, 0}, {1, 1}, {2, 2}});
}

TEST(RowGradient, NothingWhereTheTableCostsLess) {
  const auto is_found = [](Dim count, const Bindings& sizes) {
    FunctionBuilder builder("f");
    const Value indices = builder.parameter({DType::kI32, {count}});
    const Value rows = builder.parameter({DType::kF32, {count, kWidth}});
    bool found = false;
    builder.build([&] {
      const Value gradient = scatter_add(rows, indices, kRows);
      found = row_gradient(gradient, sizes).has_value();
      return std::vector{gradient};
    });
    return found;
  };
  const Dim batch = symbol("N");
  Bindings few;
  few.bind(batch, 4);
  Bindings many;
  many.bind(batch, kRows);
  EXPECT_TRUE(is_found(4, {}));
  EXPECT_FALSE(is_found(kRows / 2, {}));
  EXPECT_FALSE(is_found(batch, {}));
  EXPECT_TRUE(is_found(batch, few));
  EXPECT_FALSE(is_found(batch, many));
}

TEST(RowGradient, NothingOfOtherGradients) {
  FunctionBuilder builder("f");
  const Value indices = builder.parameter({DType::kI32, {2}});
  const Value x = builder.parameter({DType::kF32, {kRows, kWidth}});
  builder.build([&] {
    const Value rows = gather(x, indices);
    const Value columns = scatter_add(gather(x, indices, 1), indices, kRows, 1);
    for (const Value& other :
         {x, x * 2.0, scatter_add(rows, indices, kRows) + x, columns}) {
      EXPECT_FALSE(row_gradient(other).has_value());
    }
    return std::vector{x};
  });
  EXPECT_FALSE(row_gradient(Tensor::zeros({DType::kF32, {kRows, 1}})));
}

// Each lookup alone reaches few rows, and all together too many.
TEST(RowGradient, WeighsAllLookupsTogether) {
  FunctionBuilder builder("f");
  const Value rows = builder.parameter({DType::kF32, {9, kWidth}});
  const Value indices = builder.parameter({DType::kI32, {9}});
  builder.build([&] {
    const Value one = scatter_add(rows, indices, kRows);
    EXPECT_TRUE(row_gradient(one + one).has_value());
    EXPECT_FALSE(row_gradient(one + one + one).has_value());
    return std::vector{one};
  });
}

}  // namespace
}  // namespace weft::row_gradient_test
