// vjp, jvp and vmap in C++; tests/python/transforms_test.py has many functions.
#include "weft/runtime/transforms.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/ops/ops.h"
#include "weft/runtime/jit/jit.h"
#include "weft/runtime/jit/rematerialise.h"
#include "weft/runtime/jit/vmap.h"

namespace weft::transforms_test {
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
                     [&pull = pull_back] { pull({Value()}); });
}

TEST(Vjp, PullsBackInsideOfAFunctionWhatRanAtOnce) {
  const auto pulled = [](const auto& pull_back) {
    return [&pull_back](const Value& seed) {
      return pull_back({seed, Value()})[0];
    };
  };
  const auto [outputs, pull_back] =
      vjp(example, {numbers({1, 2}), numbers({3, 4})});
  EXPECT_TRUE(identical(jit(pulled(pull_back))(numbers({1, 10})).tensor(),
                        numbers({3, 40})));
  // Its gradient by the seed is there too.
  const auto slope = jit([&, &pull = pull_back](const Value& seed) {
    return vjp(
               [&](const std::vector<Value>& s) {
                 return pull({s[0], Value()});
               },
               {seed})
        .pull_back({numbers({1, 1}), Value()})[0];
  });
  EXPECT_TRUE(identical(slope(numbers({1, 10})).tensor(), numbers({3, 4})));
}

TEST(Vjp, ConstantResultsHideNoGradient) {
  const auto f = [](const std::vector<Value>& v) {
    return std::vector<Value>{numbers({1, 1}), v[0] * 2.0};
  };
  const auto run = [&](const Value& x) {
    return vjp(f, {x}).pull_back({numbers({5, 5}), numbers({1, 10})})[0];
  };
  const Tensor x = numbers({1, 2});
  EXPECT_TRUE(identical(run(x).tensor(), numbers({2, 20})));
  EXPECT_TRUE(identical(jit(run)(x).tensor(), numbers({2, 20})));
}

TEST(Vjp, OfAFunctionAroundThisOneIsAnError) {
  const auto f = jit([](const Value& x) {
    const PullBack pull_back = vjp(
                                   [](const std::vector<Value>& v) {
                                     return std::vector<Value>{v[0] * v[0]};
                                   },
                                   {x})
                                   .pull_back;
    return cond(
        less(sum(x), scalar_like(x, 9)), [&] { return pull_back({x * 2.0}); },
        [&] { return std::vector{x}; })[0];
  });
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"a gradient through", "was asked for in"}, [&] {
                       f(numbers({1, 2}));
                     });
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

// tanh(x w) of 16 layers, in blocks of `block` that are computed again; 0:
// none.
std::size_t arena_of_layers(std::size_t block,
                            std::vector<Tensor>& gradients_of) {
  constexpr std::size_t kLayers = 16;
  constexpr Dim kRows = 128;
  constexpr Dim kWidth = 8;
  FunctionBuilder builder("step");
  std::vector<TensorType> types(kLayers + 1, {DType::kF64, {kWidth, kWidth}});
  types[0].shape = {kRows, kWidth};
  std::vector<Value> inputs;
  for (const TensorType& type : types)
    inputs.push_back(builder.parameter(type));
  Executable executable(builder.build([&] {
    Value x = inputs[0];
    const auto run = [&](std::size_t first, std::size_t count) {
      Value y = x;
      for (std::size_t i = first; i < first + count; ++i) {
        y = tanh(matmul(y, inputs[i + 1]));
      }
      return std::vector<Value>{y};
    };
    if (block == 0) {
      x = run(0, kLayers)[0];
    } else {
      for (std::size_t first = 0; first < kLayers; first += block) {
        x = rematerialised([&] { return run(first, block); })[0];
      }
    }
    return gradients(sum(square(x)), inputs);
  }));
  std::vector<Tensor> arguments;
  for (const TensorType& type : types) {
    const Value drawn = test::pattern(type.shape, -0.5, 0.5, arguments.size());
    arguments.push_back(cast(drawn, DType::kF64).tensor());
  }
  gradients_of = executable.run(arguments);
  return executable.plan_for(arguments).arena_bytes();
}

TEST(Rematerialised, KeepsBlocksInsteadOfLayers) {
  std::vector<Tensor> plain, again;
  const std::size_t all = arena_of_layers(0, plain);
  const std::size_t blocks = arena_of_layers(4, again);
  // 16 layers are kept; or what goes into 4 blocks, and the 4 layers of one.
  EXPECT_LT(blocks, all * 6 / 10) << all;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(test::near(again[i], plain[i], 1e-12));
  }
}

}  // namespace
}  // namespace weft::transforms_test
