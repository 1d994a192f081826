// Which sums of a recursion are accumulated, by one worker, and which are
// returned, in the order of the calls, by several.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/runtime/tagged/executor.h"

namespace weft::accumulators_test {
namespace {

using test::kNumber;
using test::Values;

// f(x, w, n) = n < 1 ? x w : f(tanh(x w), w, n - 1) + f(x / 2, w, n - 1), or
// one of the two, and its gradients.
Graph tree(const TensorType& type, bool calls_twice) {
  Program program;
  const FunctionRef f = program.declare("f", {{type, type, kNumber}, {type}});
  program.define(f, [&](const Values& v) {
    return cond(
        less(v[2], test::number(1)), [&] { return Values{v[0] * v[1]}; },
        [&] {
          const Value n = v[2] - 1;
          const Value left = test::call_one(f, {tanh(v[0] * v[1]), v[1], n});
          if (!calls_twice) return Values{left * 2};
          return Values{left + test::call_one(f, {v[0] * 0.5, v[1], n})};
        });
  });
  program.define("main", {type, type, kNumber}, [&](const Values& v) {
    const Value y = sum(test::call_one(f, v));
    const Values wrt{v[0], v[1]};
    const Values slopes = gradients(y, wrt);
    return Values{y, slopes[0], slopes[1]};
  });
  return program.build();
}

bool accumulates(const FlatGraph& graph) {
  return std::ranges::any_of(graph.nodes, [](const FlatNode& node) {
    return node.kind == FlatKind::kAccumulate;
  });
}

TEST(Accumulators, SmallSumsOfAForkAreReturnedToAllWorkers) {
  const TensorType type{DType::kF32, {5}};
  const FlatGraph flat =
      lower(tree(type, true), "main", {{type, type, kNumber}});
  EXPECT_FALSE(accumulates(flat));
  const std::vector<Tensor> arguments{
      Tensor::of<float>({5}, {0.1f, 0.7f, -0.3f, 1.1f, 0.9f}),
      Tensor::of<float>({5}, {1.3f, 0.7f, 0.3f, -1.1f, 0.2f}),
      Tensor::scalar<std::int64_t>(9)};
  std::vector<Tensor> first;
  for (const int workers : {1, 2, 5}) {
    TaggedExecutor executor(flat, {.workers = workers});
    for (int run = 0; run < 5; ++run) {
      const auto results = executor.run(arguments);
      if (first.empty()) first = results;
      for (std::size_t i = 0; i < first.size(); ++i) {
        // To the last bit, whoever computed what.
        EXPECT_TRUE(identical(results[i], first[i])) << workers << " " << i;
      }
    }
  }
}

TEST(Accumulators, LargeSumsAndThoseOfAChainStayWhereTheyAre) {
  const auto graph_of = [](Dim size, bool calls_twice) {
    const TensorType type{DType::kF32, {size}};
    return lower(tree(type, calls_twice), "main", {{type, type, kNumber}});
  };
  EXPECT_FALSE(accumulates(graph_of(4096, true)));
  EXPECT_TRUE(accumulates(graph_of(4097, true)));
  EXPECT_TRUE(accumulates(graph_of(5, false)));
}

}  // namespace
}  // namespace weft::accumulators_test
