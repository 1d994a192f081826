// Control flow over many instances: how much of it is run. What it computes is
// in tests/python/control_transforms_test.py.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/batching/batch.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/runtime/host_func.h"
#include "weft/runtime/tagged/executor.h"

namespace weft::control_batch_test {
namespace {

using test::kReal;
using test::numbers;
using test::Values;

// fac of each, and how many activations that took.
std::int64_t run_factorials(const Tensor& xs,
                            const std::vector<double>& expected) {
  Program program;
  test::add_factorial(program);
  const BatchedGraph batched = batch(program.build(), "fac", {true});
  EXPECT_EQ(batched.is_stacked, (std::vector<bool>{true}));
  TaggedExecutor executor(lower(batched.graph, batched.entry, {{xs.type()}}));
  EXPECT_EQ(numbers(executor.run({{xs}})[0]), expected);
  EXPECT_EQ(executor.profile().live_frames, 0);
  std::int64_t activations = 0;
  for (const auto& body : executor.profile().bodies) {
    if (body.name.starts_with("fac.batched")) activations += body.activations;
  }
  return activations;
}

TEST(ControlBatch, ARecursionEndsWhereTheDeepestDoes) {
  // The entry is one, with a body of its own.
  EXPECT_EQ(run_factorials(Tensor::of<double>({3}, {1, 5, 3}), {1, 120, 6}), 5);
  EXPECT_EQ(run_factorials(Tensor::of<double>({2}, {0, 1}), {1, 1}), 1);
  EXPECT_EQ(run_factorials(Tensor::of<double>({0}, {}), {}), 1);
}

TEST(ControlBatch, WhatCannotBeBatchedIsNamedInABranch) {
  Program program;
  program.define("main", {kReal}, [](const Values& x) {
    return cond(
        less(x[0], test::real(0)), [&] { return Values{x[0]}; },
        [&] {
          return host_func([](const Values& in) { return in; }, {x[0]},
                           {kReal});
        });
  });
  test::expect_error(ErrorCode::kUnsupported, {"host_func", "no batching rule"},
                     [&] { batch(program.build(), "main", {true}); });
}

}  // namespace
}  // namespace weft::control_batch_test
