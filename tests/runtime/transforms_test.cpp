// vjp, jvp and vmap in C++; tests/python/transforms_test.py has many functions.
#include "weft/runtime/transforms.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/ops/ops.h"
#include "weft/runtime/jit/jit.h"
#include "weft/runtime/jit/vmap.h"

namespace weft {
namespace {

Tensor numbers(std::initializer_list<double> values) {
  return Tensor::of<double>({static_cast<Dim>(values.size())}, values);
}

// (x, y) -> (x * y, sum of x^2)
std::vector<Value> example(const std::vector<Value>& v) {
  return {v[0] * v[1], sum(square(v[0]))};
}

TEST(Vjp, PullsBackAsOftenAsWanted) {
  const auto [outputs, pull_back] =
      vjp(example, {numbers({1, 2}), numbers({3, 4})});
  EXPECT_TRUE(identical(outputs[0].tensor(), numbers({3, 8})));
  const auto first = pull_back({numbers({1, 10}), Value()});
  EXPECT_TRUE(identical(first[0].tensor(), numbers({3, 40})));
  EXPECT_TRUE(identical(first[1].tensor(), numbers({1, 20})));
  const auto second = pull_back({Value(), Tensor::scalar(0.5)});
  EXPECT_TRUE(identical(second[0].tensor(), numbers({1, 2})));
  EXPECT_TRUE(identical(second[1].tensor(), numbers({0, 0})));
  test::expect_error(ErrorCode::kInvalidArgument, {"1 values where 2 are due"},
                     [&] { pull_back({Value()}); });
}

TEST(Jvp, PushesForwardEagerlyAndStaged) {
  const auto run = [](const Value& x, const Value& dx) {
    const auto [outputs, tangents] =
        jvp(example, {x, numbers({3, 4})}, {dx, Value()});
    return std::vector<Value>{outputs[1], tangents[0], tangents[1]};
  };
  const Tensor x = numbers({1, 2});
  const Tensor dx = numbers({1, -1});
  for (const auto& results : {run(x, dx), jit(run)(x, dx)}) {
    EXPECT_EQ(results[0].tensor().item(), 5);
    EXPECT_TRUE(identical(results[1].tensor(), numbers({3, -4})));
    EXPECT_EQ(results[2].tensor().item(), -2);
  }
}

TEST(Vmap, MapsWhatIsMarkedAndKeepsWhatIsShared) {
  const Variable shift(Tensor::scalar(1.0), {.name = "shift"});
  const auto f = jit([&](const Value& x, const Value& w) {
    return std::vector<Value>{sum(x * w) + shift.read(), w * 2.0};
  });
  const auto graph = f.graph(numbers({1, 2}), numbers({3, 4}));
  const MappedFunction mapped = vmap(*graph, {true, false});
  EXPECT_EQ(mapped.is_stacked, (std::vector<bool>{true, false}));
  const std::vector<Value> arguments{Tensor::of<double>({2, 2}, {1, 2, 5, 6}),
                                     numbers({3, 4})};
  EXPECT_TRUE(identical(mapped.function->call(arguments)[0].tensor(),
                        numbers({12, 40})));
  // Variables are read when it is called.
  shift.assign(Tensor::scalar(2.0));
  EXPECT_TRUE(identical(mapped.function->call(arguments)[0].tensor(),
                        numbers({13, 41})));
}

TEST(Vmap, RefusesToAssignWhatIsShared) {
  const Variable count(Tensor::scalar(0.0), {.name = "count"});
  const auto f = jit([&](const Value& x) {
    count.assign(count.read() + 1.0);
    return x;
  });
  test::expect_error(ErrorCode::kUnsupported, {"assigns variable 'count'"},
                     [&] { vmap(*f.graph(numbers({1})), {true}); });
}

}  // namespace
}  // namespace weft
