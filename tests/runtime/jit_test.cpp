// Staged functions: what is traced, when, and what runs.
#include "weft/runtime/jit/jit.h"

#include <gtest/gtest.h>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/exact.h"

#include "weft/place/device.h"

namespace weft::testing::jit_test {
namespace {

using test::expect_error;

const Value kOne = Tensor::scalar(1.0f);

// --- The listings of the paper --------------------------------------------

TEST(Jit, Select) {
  const Value a = f32({1, 2}, {1, 0});
  const auto select = jit([&](const Value& x) { return matmul(a, x); });
  EXPECT_TENSOR(select(f32({2, 1}, {2, -2})), f32({1, 1}, {2}));
}

TEST(Jit, MutatesAVariableInPlaceAndInOrder) {
  const Variable v(Tensor::scalar(0.0f));
  const auto mutate = jit([&] {
    v.assign_add(scalar(1, DType::kF32));
    return v.read();
  });
  EXPECT_EQ(mutate().tensor().item(), 1);
  EXPECT_EQ(v.tensor().item(), 1);
  v.assign_add(kOne);
  EXPECT_EQ(v.read().tensor().item(), 2);
  EXPECT_EQ(mutate().tensor().item(), 3);
}

TEST(Jit, OneGraphPerHostFlag) {
  const Variable noise(f32({2, 2}, {1, 1, 1, 1}));
  const auto lossy_matmul =
      jit([&](const Value& w, const Value& x, bool training) {
        const Value y = matmul(w, x);
        return training ? y + noise.read() : y;
      });
  const Value eye = f32({2, 2}, {1, 0, 0, 1});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TENSOR(lossy_matmul(eye, eye, true), f32({2, 2}, {2, 1, 1, 2}));
    EXPECT_TENSOR(lossy_matmul(eye, eye, false), eye);
  }
  EXPECT_EQ(lossy_matmul.core().graph_count(), 2u);
}

TEST(Jit, FunctionsCallFunctions) {
  const auto inner =
      jit([](const Value& a) { return relu(a); }, {.name = "inner"});
  const auto outer =
      jit([&](const Value& a, const Value& b) { return inner(matmul(a, b)); },
          {.name = "outer"});
  const Value eye = f32({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  const Value diagonal = f32({3, 3}, {-1, 0, 0, 0, 1, 0, 0, 0, 2});
  EXPECT_TENSOR(outer(eye, diagonal), f32({3, 3}, {0, 0, 0, 0, 1, 0, 0, 0, 2}));
  const Graph& graph = outer.graph(eye, diagonal)->graph();
  EXPECT_EQ(graph.functions.size(), 2u);
  EXPECT_EQ(inner.core().trace_count(), 1u);
}

TEST(Jit, NumbersOfTheHostAreConstants) {
  int drawn = 0;
  const auto add_noise =
      jit([&](const Value& x) { return x + static_cast<double>(++drawn); });
  EXPECT_EQ(add_noise(kOne).tensor().item(), 2);
  EXPECT_EQ(add_noise(kOne).tensor().item(), 2);
  EXPECT_EQ(drawn, 1);
}

TEST(Jit, RandomOpsDrawAnew) {
  const Variable step(i64({2}, {7, 0}), {.is_trainable = false});
  const auto add_noise = jit([&](const Value& x) {
    Value y = x + uniform(step.read(), {}, 1);
    step.assign_add(i64({2}, {0, 1}));
    return y;
  });
  const double first = add_noise(kOne).tensor().item();
  EXPECT_NE(add_noise(kOne).tensor().item(), first);
}

// --- When a graph is made ---------------------------------------------------

TEST(JitCache, OneTracePerSignature) {
  const auto f = jit([](const Value& x) { return x + 1; });
  for (int i = 0; i < 1000; ++i) f(f32({3}, {1, 2, 3}));
  EXPECT_EQ(f.core().trace_count(), 1u);
  f(f32({2}, {1, 2}));
  f(f32({1}, {1}));
  EXPECT_EQ(f.core().trace_count(), 3u);
}

TEST(JitCache, DtypesAndRanksAreApart) {
  const auto f = jit([](const Value& x) { return x + x; });
  f(f32({1}, {1}));
  f(f32({}, {1}));
  f(i64({1}, {1}));
  EXPECT_EQ(f.core().graph_count(), 3u);
}

TEST(JitCache, ADimThatKeepsChangingBecomesASymbol) {
  const auto f = jit([](const Value& x, const Value& y) { return x * 2 + y; });
  const auto call = [&](Dim rows) {
    const Tensor x = Tensor::zeros({DType::kF32, {rows, 4}});
    return f(x, x).shape();
  };
  for (Dim rows = 1; rows <= 20; ++rows)
    EXPECT_EQ(call(rows), (Shape{rows, 4}));
  EXPECT_EQ(f.core().trace_count(), 3u);
  const Tensor wide = Tensor::zeros({DType::kF32, {5, 7}});
  f(wide, wide);
  EXPECT_EQ(f.core().trace_count(), 4u);
}

TEST(JitCache, DimsThatMustBeKnownStayStatic) {
  const auto f = jit([](const Value& x) {
    if (is_symbolic(x.shape()[0])) {
      throw Error(ErrorCode::kUnsupported, "test", "the rows must be known");
    }
    return x * static_cast<double>(x.shape()[0]);
  });
  for (Dim rows = 1; rows <= 6; ++rows) {
    EXPECT_EQ(f(Tensor::zeros({DType::kF32, {rows}})).shape(), Shape{rows});
  }
  EXPECT_EQ(f.core().graph_count(), 6u);
}

TEST(JitCache, ASignatureTakesAnyBatch) {
  const auto f =
      jit([](const Value& x) { return sum(x, {0}); },
          {.name = "total", .signature = {{{DType::kF32, {symbol("N"), 4}}}}});
  for (Dim rows = 1; rows <= 9; ++rows) {
    f(Tensor::zeros({DType::kF32, {rows, 4}}));
  }
  EXPECT_EQ(f.core().trace_count(), 1u);
  expect_error(ErrorCode::kInvalidArgument,
               {"@total", "argument 0", "f32[N, 4]", "f32[2, 3]"}, [&] {
                 f(Tensor::zeros({DType::kF32, {2, 3}}));
               });
}

TEST(JitCache, ScalarsOfTheHostCountByValueTensorsByType) {
  const auto f = jit([](const Value& x, int n) { return x * n; });
  const auto g = jit([](const Value& x, const Value& n) { return x * n; });
  for (int n = 1; n <= 3; ++n) {
    EXPECT_EQ(f(kOne, n).tensor().item(), n);
    EXPECT_EQ(g(kOne, Tensor::scalar(static_cast<float>(n))).tensor().item(),
              n);
  }
  EXPECT_EQ(f.core().trace_count(), 3u);
  EXPECT_EQ(g.core().trace_count(), 1u);
}

TEST(JitCache, TextsCountByValue) {
  const auto f = jit([](const Value& x, const std::string& mode) {
    return mode == "double" ? x * 2 : x;
  });
  EXPECT_EQ(f(kOne, "double").tensor().item(), 2);
  EXPECT_EQ(f(kOne, std::string("same")).tensor().item(), 1);
  EXPECT_EQ(f(kOne, "double").tensor().item(), 2);
  EXPECT_EQ(f.core().trace_count(), 2u);
}

// An object made where another one died must not be taken for it.
TEST(JitCache, ObjectsCountByIdentity) {
  const auto f = jit([](const Value& x, const std::shared_ptr<double>& factor) {
    return x * *factor;
  });
  for (int i = 1; i <= 20; ++i) {
    const auto factor = std::make_shared<double>(i);
    EXPECT_EQ(f(kOne, factor).tensor().item(), i);
    EXPECT_EQ(f(kOne, factor).tensor().item(), i);
  }
  EXPECT_EQ(f.core().trace_count(), 20u);
  EXPECT_EQ(f.core().graph_count(), 1u) << "graphs of dead objects are kept";
}

TEST(JitCache, TheLeastRecentlyUsedGraphGoes) {
  const auto f = jit([](const Value& x, int n) { return x * n; },
                     {.max_graphs = 2, .warn = [](const std::string&) {}});
  f(kOne, 1);
  f(kOne, 2);
  f(kOne, 1);
  f(kOne, 3);  // 2 goes
  f(kOne, 1);
  EXPECT_EQ(f.core().trace_count(), 3u);
  EXPECT_EQ(f.core().graph_count(), 2u);
  f(kOne, 2);
  EXPECT_EQ(f.core().trace_count(), 4u);
}

TEST(JitCache, WarnsOnceAndSaysWhatDiffered) {
  std::vector<std::string> warnings;
  const auto f = jit([](const Value& x, int n) { return x * n; },
                     {.name = "scale", .warn = [&](const std::string& text) {
                        warnings.push_back(text);
                      }});
  for (int n = 1; n <= 12; ++n) f(kOne, n);
  ASSERT_EQ(warnings.size(), 1u);
  for (const char* part : {"@scale", "8 times", "argument 1",
                           "was the number 7", "is the number 8"}) {
    EXPECT_NE(warnings[0].find(part), std::string::npos) << warnings[0];
  }
}

TEST(JitCache, DifferencesAreToldInWords) {
  const auto key = [](auto&&... leaves) {
    Arguments arguments;
    detail::Flattener flattener{arguments};
    (detail::walk(leaves, flattener), ...);
    return arguments.key();
  };
  const Value x = f32({3}, {1, 2, 3});
  const Value y = f32({4}, {1, 2, 3, 4});
  const std::vector<Value> two{x, x};
  const std::vector<Value> one{x};
  EXPECT_EQ(difference(key(x, 1), key(x, 1)), "");
  EXPECT_EQ(difference(key(x, x), key(x, y)),
            "argument 1 was f32[3], and is f32[4] now");
  EXPECT_EQ(difference(key(x, 0.5), key(x, 0.25)),
            "argument 1 was the number 0.5, and is the number 0.25 now");
  EXPECT_EQ(difference(key(two), key(one)),
            "argument 0 was a container of 2, and is a container of 1 now");
  EXPECT_EQ(difference(key(std::string("a")), key(std::string("b"))),
            "argument 0 was the text \"a\", and is the text \"b\" now");
  EXPECT_EQ(difference(key(true), key(false)),
            "argument 0 was true, and is false now");
}

TEST(Jit, CalledOnManyThreadsTracesOnce) {
  const auto f = jit([](const Value& x) { return x * 3 + 1; });
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto x = static_cast<float>(t * 100 + i);
        if (f(Tensor::scalar(x)).tensor().item() != x * 3 + 1) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.core().trace_count(), 1u);
}

// --- Structures -------------------------------------------------------------

struct State {
  Value position;
  std::vector<Value> rest;
  int steps = 2;
  static auto leaves(auto& self) {
    return std::tie(self.position, self.rest, self.steps);
  }
};

TEST(Jit, TakesAndReturnsStructures) {
  const auto advance = jit([](const State& state) {
    State next = state;
    for (int i = 0; i < state.steps; ++i) next.position = next.position + 1;
    next.rest.push_back(state.position);
    next.steps = state.steps * 10;
    return next;
  });
  for (int i = 0; i < 2; ++i) {
    const State next = advance(State{kOne, {kOne * 5}, 3});
    EXPECT_EQ(next.position.tensor().item(), 4);
    ASSERT_EQ(next.rest.size(), 2u);
    EXPECT_EQ(next.rest[0].tensor().item(), 5);
    EXPECT_EQ(next.rest[1].tensor().item(), 1);
    EXPECT_EQ(next.steps, 30);
  }
  EXPECT_EQ(advance.core().trace_count(), 1u);
}

TEST(Jit, MapsPairsAndOptionals) {
  const auto f = jit([](const std::map<std::string, Value>& values,
                        const std::optional<Value>& extra) {
    Value total = scalar(0, DType::kF32);
    for (const auto& [name, value] : values) total = total + value;
    return std::pair(extra ? total + *extra : total, 7);
  });
  EXPECT_EQ(f(std::map<std::string, Value>{{"a", kOne}, {"b", kOne}},
              std::optional<Value>())
                .first.tensor()
                .item(),
            2);
  const auto [total, number] =
      f(std::map<std::string, Value>{{"a", kOne}}, std::optional<Value>(kOne));
  EXPECT_EQ(total.tensor().item(), 2);
  EXPECT_EQ(number, 7);
}

// --- Variables --------------------------------------------------------------

TEST(JitVariables, AreMadeInTheFirstCallOnly) {
  std::optional<Variable> v;
  const auto f = jit([&](const Value& x) {
    if (!v) v.emplace(Tensor::scalar(10.0f), VariableOptions{.name = "v"});
    v->assign_add(x);
    return v->read();
  });
  EXPECT_EQ(f(kOne).tensor().item(), 11);
  EXPECT_EQ(f.core().trace_count(), 2u);
  EXPECT_EQ(f(kOne).tensor().item(), 12);
  EXPECT_EQ(f(f32({}, {5})).tensor().item(), 17);
  EXPECT_EQ(f.core().trace_count(), 2u);
}

TEST(JitVariables, MadeInEveryCallAreAnError) {
  const auto f = jit([&](const Value& x) {
    const Variable v(Tensor::scalar(10.0f), {.name = "fresh"});
    return v.read() + x;
  });
  expect_error(ErrorCode::kInvalidArgument, {"'fresh'", "first time"},
               [&] { f(kOne); });
}

TEST(JitVariables, MadeInALaterCallAreAnError) {
  std::vector<Variable> made;
  const auto f = jit([&](const Value& x, bool make) {
    if (make) made.emplace_back(Tensor::scalar(1.0f));
    return x;
  });
  f(kOne, false);
  expect_error(ErrorCode::kInvalidArgument, {"first time"},
               [&] { f(kOne, true); });
}

TEST(JitVariables, FirstValuesAreComputedOutside) {
  std::optional<Variable> v;
  const auto wrong = jit([&](const Value& x) {
    if (!v) v.emplace(x * 2, VariableOptions{.name = "v"});
    return v->read();
  });
  expect_error(ErrorCode::kInvalidArgument, {"'v'", "init_scope"},
               [&] { wrong(kOne); });
  const auto right = jit([&](const Value& x) {
    if (!v) v.emplace(init_scope([] { return full({DType::kF32, {}}, 3); }));
    return v->read() + x;
  });
  EXPECT_EQ(right(kOne).tensor().item(), 4);
}

TEST(JitVariables, ADeadOneIsAnError) {
  std::optional<Variable> v(std::in_place, Tensor::scalar(1.0f),
                            VariableOptions{.name = "short-lived"});
  const auto f = jit([&](const Value& x) { return v->read() + x; });
  EXPECT_EQ(f(kOne).tensor().item(), 2);
  v.reset();
  expect_error(ErrorCode::kInvalidArgument, {"'short-lived'", "not exist"},
               [&] { f(kOne); });
}

TEST(JitVariables, WhatWasReadKeepsItsValue) {
  const Variable v(f32({2}, {1, 2}));
  const auto f = jit([&] {
    const Value before = v.read();
    v.assign(before * 10);
    return std::pair(before, v.read());
  });
  const Value snapshot = v.read();
  const auto [before, after] = f();
  EXPECT_TENSOR(before, f32({2}, {1, 2}));
  EXPECT_TENSOR(after, f32({2}, {10, 20}));
  EXPECT_TENSOR(snapshot, f32({2}, {1, 2}));
  EXPECT_TENSOR(v.read(), f32({2}, {10, 20}));
}

TEST(JitVariables, AreOverwrittenInPlaceWhenNobodyElseLooks) {
  const Variable v(f32({2}, {1, 2}));
  const auto f = jit([&] { v.assign(v.read() + 1); });
  const void* memory = v.tensor().raw();
  for (int i = 0; i < 3; ++i) f();
  EXPECT_EQ(v.tensor().raw(), memory);
  EXPECT_TENSOR(v.read(), f32({2}, {4, 5}));
}

TEST(JitVariables, KeepTheirValuesWhereThereIsNoMemoryForACopy) {
  const Variable small(f32({2}, {1, 2}));
  // Nobody has so much memory, and nothing looks at it before it is copied.
  static float first = 0;
  const TensorType huge{DType::kF32, {Dim{1} << 50}};
  const Variable large(Value(Tensor::wrap(huge, &first, &first, [](void*) {})));
  const auto step = jit([&](const Value& x) {
    small.assign_add(x);
    large.assign_add(sum(x));
  });
  test::expect_error(ErrorCode::kExhausted, {"refused"}, [&] {
    step(f32({2}, {1, 1}));
  });
  ASSERT_TRUE(small.tensor().is_defined());
  EXPECT_TRUE(identical(small.tensor(), f32({2}, {1, 2}).tensor()));
  EXPECT_EQ(large.tensor().raw(), &first);
}

TEST(JitVariables, OfAnInnerFunctionAreThoseOfTheOuterOne) {
  const Variable v(Tensor::scalar(1.0f));
  const auto inner = jit([&](const Value& x) {
    v.assign(v.read() * x);
    return v.read();
  });
  const auto outer = jit([&](const Value& x) {
    v.assign_add(x);
    Value y = inner(x);
    v.assign_add(x);
    return y;
  });
  EXPECT_EQ(outer(Tensor::scalar(3.0f)).tensor().item(), 12);
  EXPECT_EQ(v.tensor().item(), 15);
}

TEST(JitVariables, TypesAreKept) {
  const Variable v(f32({2}, {1, 2}), {.name = "pair"});
  expect_error(ErrorCode::kInvalidArgument,
               {"'pair'", "f32[3]", "f32[2]", "jit_test.cpp"}, [&] {
                 v.assign(f32({3}, {1, 2, 3}));
               });
  const Variable empty(TensorType{DType::kF32, {}}, {.name = "empty"});
  expect_error(ErrorCode::kInvalidArgument, {"'empty'", "no value"},
               [&] { empty.read(); });
  const auto f = jit([&] { return empty.read(); });
  expect_error(ErrorCode::kInvalidArgument, {"'empty'", "no value"},
               [&] { f(); });
}

// --- Symbols ----------------------------------------------------------------

TEST(JitErrors, ASymbolDecidesNothing) {
  const auto f = jit([](const Value& x) {
    const Value is_positive = greater(x, scalar(0, DType::kF32));
    return is_positive ? x : -x;
  });
  expect_error(ErrorCode::kInvalidArgument, {"jit_test.cpp:", "cond"},
               [&] { f(kOne); });
  EXPECT_TRUE(static_cast<bool>(greater(kOne, scalar(0, DType::kF32))));
}

TEST(JitErrors, ASymbolHasNoNumbers) {
  const auto f = jit([](const Value& x) { return x * x.tensor().item(); });
  expect_error(ErrorCode::kInvalidArgument,
               {"jit_test.cpp:", "no numbers until"}, [&] { f(kOne); });
}

TEST(JitErrors, ASymbolEndsWithItsTrace) {
  Value escaped;
  const auto f = jit(
      [&](const Value& x) {
        escaped = x + 1;
        return escaped;
      },
      {.name = "leaky"});
  f(kOne);
  expect_error(ErrorCode::kInvalidArgument, {"@leaky", "was built"},
               [&] { escaped + kOne; });
  const auto g = jit([&](const Value& x) { return x + escaped; });
  expect_error(ErrorCode::kInvalidArgument, {"@leaky"}, [&] { g(kOne); });
}

TEST(JitErrors, ARecursionWithoutDeclaredResultsIsClear) {
  std::function<Value(const Value&)> self;
  const auto f =
      jit([&](const Value& x) { return self(x) + 1; }, {.name = "endless"});
  self = [&](const Value& x) { return f(x); };
  expect_error(ErrorCode::kInvalidArgument, {"@endless", "calls itself"},
               [&] { f(kOne); });
}

TEST(JitErrors, ARecursionOverNumbersMustEnd) {
  std::function<Value(const Value&, int)> self;
  const auto f = jit([&](const Value& x, int n) { return self(x, n + 1); });
  self = [&](const Value& x, int n) { return f(x, n); };
  expect_error(ErrorCode::kExhausted, {"deep"}, [&] { f(kOne, 0); });
}

TEST(Jit, RecursionOverNumbersOfTheHostUnrolls) {
  std::function<Value(const Value&, int)> self;
  const auto power = jit([&](const Value& x, int n) {
    return n == 0 ? scalar(1, DType::kF32) : x * self(x, n - 1);
  });
  self = [&](const Value& x, int n) { return power(x, n); };
  EXPECT_EQ(power(Tensor::scalar(2.0f), 5).tensor().item(), 32);
}

TEST(Jit, AnInnerFunctionMayUseSymbolsFromAround) {
  const auto outer = jit([](const Value& x) {
    const auto inner = jit([&](const Value& y) { return x * y; });
    return inner(x + 1) + inner(x + 2);
  });
  EXPECT_EQ(outer(Tensor::scalar(3.0f)).tensor().item(), 12 + 15);
}

TEST(Jit, AGraphWithSymbolsFromAroundIsNotUsedAgain) {
  Value captured;
  const auto inner = jit([&](const Value& y) { return captured * y; });
  const auto outer = jit([&](const Value& x, int n) {
    captured = x + n;
    return inner(x);
  });
  EXPECT_EQ(outer(Tensor::scalar(2.0f), 1).tensor().item(), 6);
  EXPECT_EQ(outer(Tensor::scalar(2.0f), 2).tensor().item(), 8);
  captured = Tensor::scalar(5.0f);
  EXPECT_EQ(inner(Tensor::scalar(2.0f)).tensor().item(), 10);
}

TEST(Devices, UnknownOnesAreListed) {
  const DeviceScope here("cpu:0");
  expect_error(ErrorCode::kInvalidArgument, {"'gpu:7'", "cpu:0"},
               [] { const DeviceScope scope("gpu:7"); });
}

// --- Memory -----------------------------------------------------------------

TEST(JitMemory, DroppedFunctionsFreeTheirGraphs) {
  const Value x = f32({4}, {1, 2, 3, 4});
  std::vector<std::weak_ptr<GraphFunction>> graphs;
  for (int i = 0; i < 100; ++i) {
    const auto f = jit([&](const Value& y) { return x + y; });
    // All are traced; making a plan is slow, so only some are run.
    if (i % 20 == 0) f(x);
    graphs.push_back(f.graph(x));
    EXPECT_FALSE(graphs.back().expired());
  }
  for (const auto& graph : graphs) EXPECT_TRUE(graph.expired());
}

}  // namespace
}  // namespace weft::testing::jit_test
