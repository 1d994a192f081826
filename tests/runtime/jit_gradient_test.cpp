// Tapes across staged functions.
#include <gtest/gtest.h>

#include "tests/support/exact.h"
#include "tests/support/values.h"

#include "weft/runtime/jit/gradient_split.h"
#include "weft/runtime/jit/jit.h"

namespace weft::testing::jit_gradient_test {
namespace {

Value number(float x) { return Tensor::scalar(x); }

double gradient_of(const Value& y, const Value& x, Tape& tape) {
  return tape.gradient(y, {&x, 1})[0].tensor().item();
}

TEST(JitGradient, FirstAndSecondDerivative) {
  const auto square = jit([](const Value& x) { return x * x; });
  Value x = number(3);
  Tape outer;
  outer.watch(x);
  Tape inner;
  inner.watch(x);
  const Value first = inner.gradient(square(x), {&x, 1})[0];
  EXPECT_EQ(first.tensor().item(), 6);
  EXPECT_EQ(gradient_of(first, x, outer), 2);
}

TEST(JitGradient, ThirdDerivativeThroughIntermediates) {
  const auto f = jit([](const Value& x) { return exp(x * x) * x; });
  const auto third = [](auto&& function, float at) {
    Value x = number(at);
    Tape a;
    a.watch(x);
    Tape b;
    b.watch(x);
    Tape c;
    c.watch(x);
    const Value first = c.gradient(function(x), {&x, 1})[0];
    const Value second = b.gradient(first, {&x, 1})[0];
    return gradient_of(second, x, a);
  };
  const auto plain = [](const Value& x) { return exp(x * x) * x; };
  EXPECT_NEAR(third(f, 0.5f), third(plain, 0.5f), 1e-4);
}

TEST(JitGradient, OfResultsThatAreArguments) {
  const auto f = jit([](const Value& x, const Value& y) {
    return std::vector<Value>{x, x * y, x};
  });
  Value x = number(3);
  Value y = number(5);
  Tape tape;
  tape.watch(x);
  tape.watch(y);
  const std::vector<Value> results = f(x, y);
  const std::vector<Value> seeds{number(1), number(10), number(100)};
  const std::vector<Value> wrt{x, y};
  const auto gradients = tape.gradient(results, seeds, wrt);
  EXPECT_EQ(gradients[0].tensor().item(), 151);
  EXPECT_EQ(gradients[1].tensor().item(), 30);
}

TEST(JitGradient, OfVariablesAndCapturedTensors) {
  const Variable v(number(2));
  Value w = number(5);
  const auto f = jit([&](const Value& x) { return v.read() * w * x; });
  f(number(1));  // traced before anything is watched
  Tape tape({.is_persistent = true});
  tape.watch(w);
  const Value y = f(number(3));
  EXPECT_EQ(y.tensor().item(), 30);
  EXPECT_EQ(gradient_of(y, v.read(), tape), 15);
  EXPECT_EQ(gradient_of(y, w, tape), 6);
}

TEST(JitGradient, OfNestedFunctions) {
  const auto inner = jit([](const Value& x) { return x * x; });
  const auto outer =
      jit([&](const Value& x) { return inner(x) * x + inner(x); });
  Value x = number(2);
  Tape tape;
  tape.watch(x);
  EXPECT_EQ(gradient_of(outer(x), x, tape), 3 * 4 + 2 * 2);
}

TEST(JitGradient, MixesWithEagerOps) {
  const auto f = jit([](const Value& x) { return tanh(x); });
  const auto value = [](auto&& function) {
    Value x = f32({3}, {0.1f, 0.2f, 0.3f});
    Tape tape;
    tape.watch(x);
    const Value y = sum(function(x * 2) * function(x) + x);
    return tape.gradient(y, {&x, 1})[0];
  };
  EXPECT_TRUE(test::near(value(f).tensor(),
                         value([](const Value& x) { return tanh(x); }).tensor(),
                         1e-6));
}

TEST(JitGradient, SeveralResultsOfWhichOneIsUsed) {
  const auto f = jit(
      [](const Value& x) { return std::tuple(x * 2, exp(x), argmax(x, 0)); });
  Value x = f32({2}, {1, 2});
  Tape tape;
  tape.watch(x);
  const auto [doubled, unused, index] = f(x);
  EXPECT_TENSOR(tape.gradient(sum(doubled), {&x, 1})[0], f32({2}, {2, 2}));
}

TEST(JitGradient, TheSameArgumentTwice) {
  const auto multiply =
      jit([](const Value& a, const Value& b) { return a * b; });
  Value x = number(3);
  Tape tape;
  tape.watch(x);
  EXPECT_EQ(gradient_of(multiply(x, x), x, tape), 6);
}

TEST(JitGradient, InsideAFunctionIsPartOfIt) {
  const auto slope = jit([](Value x) {
    Tape outer;
    outer.watch(x);
    Tape inner;
    inner.watch(x);
    const Value y = x * x * x;
    const Value first = inner.gradient(y, {&x, 1})[0];
    return std::pair(first, outer.gradient(first, {&x, 1})[0]);
  });
  const auto [first, second] = slope(number(2));
  EXPECT_EQ(first.tensor().item(), 12);
  EXPECT_EQ(second.tensor().item(), 12);
}

TEST(JitGradient, AnUpdateUnderATapeLeavesWhatWasRecorded) {
  const Variable v(number(3));
  const auto step = jit([&](const Value& x) {
    Value y = v.read() * v.read() * x;
    v.assign(v.read() * 100);
    return y;
  });
  Tape tape;
  const Value y = step(number(1));
  EXPECT_EQ(v.tensor().item(), 300);
  EXPECT_EQ(gradient_of(y, v.read(), tape), 6);
}

TEST(JitGradient, OfAFunctionOfAnyBatch) {
  const Variable w(f32({2}, {1, 2}));
  const auto f = jit([&](const Value& x) { return sum(exp(x * w.read())); },
                     {.signature = {{{DType::kF32, {symbol("N"), 2}}}}});
  for (const Dim rows : {1, 3, 2}) {
    const Value x = test::pattern({rows, 2});
    Tape staged;
    const std::vector<Value> wrt{w.read()};
    const Value gradient = staged.gradient(f(x), wrt)[0];
    Tape eager;
    const Value y = sum(exp(x * w.read()));
    EXPECT_TRUE(test::near(gradient.tensor(),
                           eager.gradient(y, wrt)[0].tensor(), 1e-5));
  }
  EXPECT_EQ(f.core().trace_count(), 1u);
}

// --- What is kept between forward and backward -----------------------------

std::size_t saved_by(const std::function<Value(const Value&)>& body) {
  const auto f = jit(body);
  const auto graph = f.graph(f32({4}, {1, 2, 3, 4}));
  std::vector<bool> wrt(graph->function().parameters().size(), false);
  wrt[0] = true;
  return graph->saved_count(wrt);
}

TEST(JitMemory, BackwardKeepsOnlyWhatItReads) {
  EXPECT_EQ(saved_by([](const Value& x) { return x * 3; }), 0u);
  EXPECT_EQ(saved_by([](const Value& x) { return x + x; }), 0u);
  EXPECT_EQ(saved_by([](const Value& x) { return x * x; }), 0u);
  EXPECT_EQ(saved_by([](const Value& x) { return exp(x); }), 0u)
      << "the result is there anyway";
  EXPECT_EQ(saved_by([](const Value& x) { return exp(x) * 3; }), 1u);
  EXPECT_EQ(saved_by([](const Value& x) { return sum(exp(x)); }), 1u);
  EXPECT_EQ(saved_by([](const Value& x) {
              return reshape(exp(reshape(x, {2, 2})), {4}) * 2;
            }),
            1u)
      << "views are made again";
}

// What counts as the gradient's work is not done twice: the backward function
// of a product chain has no exponential.
TEST(JitGradient, BackwardComputesNothingAgain) {
  const auto f = jit([](const Value& x) { return exp(x) * 3; });
  const auto graph = f.graph(f32({4}, {1, 2, 3, 4}));
  const GradientSplit split(graph->function(), 1, {true}, 1);
  const Function backward = split.backward({true, false});
  for (const Node& node : backward.nodes()) {
    EXPECT_NE(node.op->name(), "exp");
  }
  EXPECT_EQ(split.forward().results().size(), 2u);
}

}  // namespace
}  // namespace weft::testing::jit_gradient_test
