#include "weft/runtime/executable_cache.h"

#include <gtest/gtest.h>

#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/runtime/host_func.h"

namespace weft::executable_cache_test {
namespace {

// y = factor * x, by the name "scale".
Graph scaling(double factor, const Shape& shape = {4}) {
  FunctionBuilder builder("scale");
  return {{builder.build([&] {
    const Value x = builder.parameter({DType::kF32, shape}, "x");
    return std::vector{x * factor};
  })}};
}

TEST(ExecutableCache, EqualFunctionsShareOne) {
  ExecutableCache cache;
  const auto first = cache.get(scaling(2), "scale", {});
  const auto second = cache.get(scaling(2), "scale", {});
  EXPECT_EQ(first, second);
  EXPECT_EQ(cache.size(), 1u);
  const Tensor a = Tensor::of<float>({4}, {1, 2, 3, 4});
  const Tensor b = Tensor::of<float>({4}, {5, 6, 7, 8});
  EXPECT_EQ(first->run({&a, 1})[0].item(3), 8);
  EXPECT_EQ(second->run({&b, 1})[0].item(3), 16);
  EXPECT_EQ(&first->plan_for({&a, 1}), &second->plan_for({&b, 1}));
}

TEST(ExecutableCache, WhateverDiffersHasItsOwn) {
  ExecutableCache cache;
  const auto first = cache.get(scaling(2), "scale", {});
  EXPECT_NE(cache.get(scaling(3), "scale", {}), first);
  EXPECT_NE(cache.get(scaling(2, {5}), "scale", {}), first);
  EXPECT_NE(cache.get(scaling(2), "scale", {.donated = {{0, 0}}}), first);
  EXPECT_NE(cache.get(scaling(2), "scale", {.check_numerics = true}), first);
  EXPECT_NE(cache.get(scaling(2), "scale", {.fuse = false}), first);
  EXPECT_EQ(cache.size(), 6u);
}

// Such a run may wait, and another one would begin meanwhile.
TEST(ExecutableCache, CodeOfTheProgramIsNotShared) {
  const auto calling = [] {
    FunctionBuilder builder("call");
    return Graph{{builder.build([&] {
      const Value x = builder.parameter({DType::kF32, {4}}, "x");
      return host_func([](const std::vector<Value>& in) { return in; }, {x},
                       {x.type()});
    })}};
  };
  const Graph graph = calling();
  ExecutableCache cache;
  EXPECT_NE(cache.get(graph, "call", {}), cache.get(graph, "call", {}));
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace weft::executable_cache_test
