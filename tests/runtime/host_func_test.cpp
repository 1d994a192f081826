// Code of the program inside of staged functions.
#include "weft/runtime/host_func.h"

#include <gtest/gtest.h>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/exact.h"

#include "weft/ops/control.h"
#include "weft/runtime/jit/jit.h"

namespace weft::testing::host_func_test {
namespace {

using test::expect_error;

Value number(float x) { return Tensor::scalar(x); }

// Known to the host only: x cubed if x is positive, else -x.
std::vector<Value> piecewise(const std::vector<Value>& in) {
  const Value& x = in[0];
  return {x.tensor().item() > 0 ? x * x * x : -x};
}

TEST(HostFunc, RunsWithTheNumbersOfEachRun) {
  int calls = 0;
  const auto f = jit([&](const Value& x) {
    return host_func(
               [&](const std::vector<Value>& in) {
                 ++calls;
                 return piecewise(in);
               },
               {x * 1}, {x.type()})[0] +
           1;
  });
  EXPECT_EQ(f(number(2)).tensor().item(), 9);
  EXPECT_EQ(f(number(-2)).tensor().item(), 3);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(f.core().trace_count(), 1u);
}

// A print or a log: nobody uses what it returns.
TEST(HostFunc, RunsAlsoIfNobodyUsesItsResult) {
  std::vector<double> seen;
  const auto note = [&](const std::vector<Value>& in) {
    seen.push_back(in[0].tensor().item());
    return in;
  };
  const auto f = jit([&](const Value& x) {
    for (int i = 0; i < 2; ++i) host_func(note, {x * 2}, {x.type()});
    return x + 1;
  });
  EXPECT_EQ(f(number(2)).tensor().item(), 3);
  EXPECT_EQ(f(number(5)).tensor().item(), 6);
  EXPECT_EQ(seen, (std::vector<double>{4, 4, 10, 10}));

  seen.clear();  // the backward function does not run it again
  Value x = number(3);
  Tape tape;
  tape.watch(x);
  const Value y = f(x) * f(x);
  EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 8);
  EXPECT_EQ(seen, (std::vector<double>{6, 6, 6, 6}));
}

TEST(HostFunc, RunsInTheBranchThatIsTakenAndInEachCall) {
  std::vector<double> seen;
  const auto note = [&](const std::vector<Value>& in) {
    seen.push_back(in[0].tensor().item());
    return in;
  };
  std::function<Value(const Value&)> self;
  const auto down = jit(
      [&](const Value& x) {
        return cond(
            less_equal(x, scalar_like(x, 0)), [&] { return std::vector{x}; },
            [&] {
              host_func(note, {x}, {x.type()});
              return std::vector{self(x - 1)};
            })[0];
      },
      {.results = {{TensorType{DType::kF32, {}}}}});
  self = [&](const Value& x) { return down(x); };
  down(number(3));
  EXPECT_EQ(std::multiset<double>(seen.begin(), seen.end()),
            (std::multiset<double>{1, 2, 3}));
}

TEST(HostFunc, HasGradientsOfAnyOrder) {
  const auto f = jit([](const Value& x) {
    return host_func(piecewise, {x}, {x.type()})[0] * 2;
  });
  const auto slopes = [](auto&& function, float at) {
    Value x = number(at);
    Tape outer;
    outer.watch(x);
    Tape inner;
    inner.watch(x);
    const Value first = inner.gradient(function(x), {&x, 1})[0];
    return std::pair(first.tensor().item(),
                     outer.gradient(first, {&x, 1})[0].tensor().item());
  };
  EXPECT_EQ(slopes(f, 2), std::pair(24.0, 24.0));
  EXPECT_EQ(slopes(f, -2), std::pair(-2.0, 0.0));
  const auto eager = [](const Value& x) {
    return host_func(piecewise, {x}, {x.type()})[0] * 2;
  };
  EXPECT_EQ(slopes(eager, 2), std::pair(24.0, 24.0));
}

TEST(HostFunc, TwoOfOneNameAreApart) {
  const auto f = jit([](const Value& x) {
    const auto add = [&](double n) {
      return host_func([n](const auto& in) { return std::vector{in[0] + n}; },
                       {x}, {x.type()}, "add")[0];
    };
    return add(1) * add(2);
  });
  EXPECT_EQ(f(number(1)).tensor().item(), 6);
}

TEST(HostFunc, WhatItThrowsArrives) {
  const auto f = jit([](const Value& x) {
    return host_func(
               [](const auto& in) -> std::vector<Value> {
                 if (in[0].tensor().item() > 0) return in;
                 throw std::runtime_error("not so");
               },
               {x}, {x.type()})[0] +
           1;
  });
  EXPECT_THROW(f(number(-1)), std::runtime_error);
  EXPECT_EQ(f(number(1)).tensor().item(), 2);
}

TEST(HostFunc, MustReturnWhatItDeclares) {
  const auto f = jit([](const Value& x) {
    return host_func(
        [](const auto& in) {
          return std::vector{in[0], in[0]};
        },
        {x}, {x.type()}, "twin")[0];
  });
  expect_error(ErrorCode::kInvalidArgument, {"twin", "declared", "returned"},
               [&] { f(number(1)); });
}

// While a function runs, the host may call it again.
TEST(HostFunc, MayCallTheFunctionThatCallsIt) {
  std::function<Value(const Value&)> self;
  const auto f = jit([&](const Value& x) {
    return host_func(
               [&](const std::vector<Value>& in) -> std::vector<Value> {
                 if (in[0].tensor().item() <= 1) return {number(1)};
                 return {in[0] * self(in[0] - 1)};
               },
               {x}, {x.type()}, "factorial")[0] +
           0;
  });
  self = [&](const Value& x) { return f(x); };
  EXPECT_EQ(f(number(5)).tensor().item(), 120);
}

}  // namespace
}  // namespace weft::testing::host_func_test
