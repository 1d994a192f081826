// Branches, loops and recursion in staged functions.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/values.h"

#include "weft/ops/control.h"
#include "weft/ops/index.h"
#include "weft/runtime/jit/jit.h"

namespace weft::testing::jit_control_test {
namespace {

using test::expect_error;

Value number(double x) { return Tensor::scalar(x); }

// x <= 1 ? 1 : x * self(x - 1), as a function that is its own argument.
struct Factorial {
  std::function<Value(const Value&)> self;
  Value operator()(const Value& x) const {
    return cond(
        less_equal(x, scalar_like(x, 1)),
        [&] { return std::vector{ones_like(x)}; },
        [&] { return std::vector{x * self(x - 1)}; })[0];
  }
};

JitOptions recursive() {
  return {.name = "factorial", .results = {{TensorType{DType::kF64, {}}}}};
}

TEST(JitControl, ABranchIsTakenWhenItRuns) {
  const auto f = jit([](const Value& x) {
    return cond(
        less(x, scalar_like(x, 0)), [&] { return std::vector{x * 10}; },
        [&] { return std::vector{x + 1}; })[0];
  });
  EXPECT_EQ(f(number(-2)).tensor().item(), -20);
  EXPECT_EQ(f(number(2)).tensor().item(), 3);
  EXPECT_EQ(f.core().trace_count(), 1u);
}

TEST(JitControl, ALoopRunsAsLongAsItsValueSays) {
  const auto f = jit([](const Value& n) {
    return while_loop(
        {n, scalar_like(n, 1)},
        [](const auto& v) { return less(scalar_like(v[0], 1), v[0]); },
        [](const auto& v) {
          return std::vector{v[0] - 1, v[1] * v[0]};
        })[1];
  });
  EXPECT_EQ(f(number(5)).tensor().item(), 120);
  EXPECT_EQ(f(number(3)).tensor().item(), 6);
}

TEST(JitControl, AFunctionMayCallItself) {
  Factorial body;
  const auto factorial =
      jit([&](const Value& x) { return body(x); }, recursive());
  body.self = [&](const Value& x) { return factorial(x); };
  EXPECT_EQ(factorial(number(5)).tensor().item(), 120);
  EXPECT_EQ(factorial(number(10)).tensor().item(), 3628800);
  EXPECT_EQ(factorial.core().trace_count(), 1u);
}

TEST(JitControl, ARecursionPassesOnWhatItCaptures) {
  const Variable factor(number(3));
  const Value shift = number(100);
  std::function<Value(const Value&)> self;
  const auto f = jit(
      [&](const Value& x) {
        return cond(
            less_equal(x, scalar_like(x, 0)),
            [&] { return std::vector{shift + 0}; },
            [&] { return std::vector{self(x - 1) * factor.read()}; })[0];
      },
      {.results = {{TensorType{DType::kF64, {}}}}});
  self = [&](const Value& x) { return f(x); };
  EXPECT_EQ(f(number(3)).tensor().item(), 2700);
  factor.assign(number(2));
  EXPECT_EQ(f(number(3)).tensor().item(), 800);
}

TEST(JitControl, ARecursionMayMakeTheIndicesThatItReadsBy) {
  const TensorType row{DType::kF64, {3}};
  std::function<std::vector<Value>(const Value&, const Value&)> self;
  const auto f = jit(
      [&](const Value& n, const Value& x) {
        return cond(
            less_equal(n, scalar_like(n, 0)), [&] { return std::vector{x}; },
            [&] {
              const Value places = Tensor::of<std::int64_t>({3}, {2, 0, 1});
              return self(n - 1, gather(x, places) * 2);
            });
      },
      {.results = {{row}}});
  self = [&](const Value& n, const Value& x) { return f(n, x); };
  const Value x = Tensor::of<double>({3}, {1, 2, 3});
  EXPECT_TRUE(
      identical(f(Value(Tensor::scalar(std::int64_t{2})), x)[0].tensor(),
                Tensor::of<double>({3}, {8, 12, 4})));
}

// n!, one-sided at the whole numbers: n! times the sum of 1/2 … 1/n.
TEST(JitControl, ARecursionHasAGradient) {
  Factorial body;
  const auto factorial =
      jit([&](const Value& x) { return body(x); }, recursive());
  body.self = [&](const Value& x) { return factorial(x); };
  Value x = number(5);
  Tape tape;
  tape.watch(x);
  const Value y = factorial(x);
  EXPECT_NEAR(tape.gradient(y, {&x, 1})[0].tensor().item(), 154, 1e-9);

  const auto slope = jit([&](Value at) {
    Tape inner;
    inner.watch(at);
    return inner.gradient(factorial(at), {&at, 1})[0];
  });
  EXPECT_NEAR(slope(number(5)).tensor().item(), 154, 1e-9);
  EXPECT_NEAR(slope(number(5.5)).tensor().item(), 570.5625, 1e-9);
}

// The memory of a variable stays where it is, with branches as without.
TEST(JitControl, AssignedVariablesAreOverwrittenInPlace) {
  const Variable v(Tensor::zeros({DType::kF32, {1000}}));
  const auto step = jit([&](const Value& x) {
    Value rate = cond(
        less(x, scalar_like(x, 0)), [&] { return std::vector{x}; },
        [&] { return std::vector{x * 2.0}; })[0];
    v.assign(v.read() + rate);
    return rate;
  });
  const Value one = Tensor::of<float>({}, {1});
  step(one);
  const void* memory = v.read().tensor().raw();
  step(one);
  EXPECT_EQ(v.read().tensor().raw(), memory);
  EXPECT_EQ(v.read().tensor().item(999), 4);
  // What was read before keeps its value.
  const Value before = v.read();
  step(one);
  EXPECT_EQ(before.tensor().item(0), 4);
  EXPECT_EQ(v.read().tensor().item(0), 6);
}

// It is as for branches; the result of a loop has memory of its own.
TEST(JitControl, AVariableMayComeOutOfALoop) {
  const Variable v(Tensor::zeros({DType::kF32, {100}}));
  const auto f = jit([&](const Value& n) {
    v.assign(while_loop(
        {n, v.read()},
        [](const auto& s) { return less(scalar_like(s[0], 0), s[0]); },
        [](const auto& s) {
          return std::vector{s[0] - 1, s[1] + 1.0};
        })[1]);
    return v.read() * 2.0;
  });
  EXPECT_EQ(f(number(3)).tensor().item(99), 6);
  EXPECT_EQ(f(number(2)).tensor().item(0), 10);
  EXPECT_EQ(v.read().tensor().item(50), 5);
}

TEST(JitControl, GradientsPassBranchesAndVariables) {
  const Variable w(number(4));
  const auto f = jit([&](const Value& x) {
    return cond(
        less(x, scalar_like(x, 0)), [&] { return std::vector{x * w.read()}; },
        [&] { return std::vector{w.read() * w.read() * x}; })[0];
  });
  const auto slope_at = [&](double at) {
    Tape tape;
    const Value y = f(number(at));
    const std::vector<Value> wrt{w.read()};
    return tape.gradient(y, wrt)[0].tensor().item();
  };
  EXPECT_EQ(slope_at(-3), -3);
  EXPECT_EQ(slope_at(5), 40);
}

// Integers that a trace writes down are no other tensors each time.
TEST(JitControl, ARecursionMayCountByIntegers) {
  const TensorType integer{DType::kI64, {}};
  std::function<Value(const Value&)> self;
  const auto fib = jit(
      [&](const Value& n) {
        return cond(
            less_equal(n, Value(Tensor::scalar<std::int64_t>(1))),
            [&] { return std::vector{n}; },
            [&] {
              const Value one = Tensor::scalar<std::int64_t>(1);
              return std::vector{self(n - one) + self(n - 2)};
            })[0];
      },
      {.results = {{integer}}});
  self = [&](const Value& n) { return fib(n); };
  EXPECT_EQ(fib(Tensor::scalar<std::int64_t>(10)).tensor().item(), 55);
  EXPECT_EQ(fib.core().trace_count(), 1u);
}

// Hofstadter's: F(n) = n - M(F(n - 1)), M(n) = n - F(M(n - 1)), F(0) = 1,
// M(0) = 0. Both call themselves and each other, and use a variable.
TEST(JitControl, FunctionsMayCallEachOther) {
  const TensorType real{DType::kF64, {}};
  const Variable zero(number(0));
  std::function<Value(const Value&)> female;
  std::function<Value(const Value&)> male;
  const auto body = [&](double first, auto& self, auto& other) {
    return [&, first](const Value& n) {
      return cond(
          less_equal(n, zero.read()),
          [&] { return std::vector{zero.read() + first}; },
          [&] { return std::vector{n - other(self(n - 1))}; })[0];
    };
  };
  const auto f = jit(body(1, female, male), {.results = {{real}}});
  const auto m = jit(body(0, male, female), {.results = {{real}}});
  female = [&](const Value& n) { return f(n); };
  male = [&](const Value& n) { return m(n); };
  const std::vector<double> wanted{1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6};
  const std::vector<double> other{0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6};
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    const auto at = static_cast<double>(n);
    EXPECT_EQ(f(number(at)).tensor().item(), wanted[n]) << n;
    EXPECT_EQ(m(number(at)).tensor().item(), other[n]) << n;
  }
}

// x·f(x - 1) and x·g(x - 1) in turn: 5.5·4.5·3.5·2.5·1.5, and its slope.
TEST(JitControl, FunctionsThatCallEachOtherHaveGradients) {
  const TensorType real{DType::kF64, {}};
  std::function<Value(const Value&)> to_f;
  std::function<Value(const Value&)> to_g;
  const auto body = [](auto& other) {
    return [&other](const Value& x) {
      return cond(
          less_equal(x, scalar_like(x, 1)),
          [&] { return std::vector{ones_like(x)}; },
          [&] { return std::vector{x * other(x - 1)}; })[0];
    };
  };
  const auto f = jit(body(to_g), {.results = {{real}}});
  const auto g = jit(body(to_f), {.results = {{real}}});
  to_f = [&](const Value& x) { return f(x); };
  to_g = [&](const Value& x) { return g(x); };
  Value x = number(5.5);
  Tape tape;
  tape.watch(x);
  const Value y = f(x);
  EXPECT_EQ(y.tensor().item(), 324.84375);
  EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 570.5625);
}

TEST(JitControl, ACallOfEachOtherNeedsItsTypes) {
  std::function<Value(const Value&)> back;
  const auto g = jit([&](const Value& x) { return back(x); });
  const auto f = jit([&](const Value& x) { return g(x); });
  back = [&](const Value& x) { return f(x); };
  expect_error(ErrorCode::kInvalidArgument,
               {"what it returns is not known", "results=", "JitOptions"},
               [&] { f(number(1)); });
}

// d/dw of w x, w² x (x - 1), …, down to x <= 1.
TEST(JitControl, ARecursionHasGradientsOfWhatItCaptures) {
  const Variable w(number(3));
  std::function<Value(const Value&)> self;
  const auto f = jit(
      [&](const Value& x) {
        return cond(
            less_equal(x, scalar_like(x, 1)),
            [&] { return std::vector{ones_like(x)}; },
            [&] { return std::vector{x * w.read() * self(x - 1)}; })[0];
      },
      {.results = {{TensorType{DType::kF64, {}}}}});
  self = [&](const Value& x) { return f(x); };
  // 5! w⁴
  Tape outer;
  const std::vector<Value> wrt{w.read()};
  Tape tape;
  const Value y = f(number(5));
  const Value first = tape.gradient(y, wrt)[0];
  EXPECT_EQ(first.tensor().item(), 120.0 * 4 * 27);
  EXPECT_EQ(outer.gradient(first, wrt)[0].tensor().item(), 120.0 * 12 * 9);
}

TEST(JitControl, FramesAreLimitedAsTheOptionsSay) {
  Factorial body;
  JitOptions options = recursive();
  options.tagged.max_frames = 20;
  const auto factorial = jit([&](const Value& x) { return body(x); }, options);
  body.self = [&](const Value& x) { return factorial(x); };
  EXPECT_EQ(factorial(number(10)).tensor().item(), 3628800);
  expect_error(ErrorCode::kExhausted, {"more than 20", "max_frames"},
               [&] { factorial(number(50)); });
}

TEST(JitControl, BranchesDoNotAssign) {
  const Variable v(number(0), {.name = "v"});
  const auto f = jit([&](const Value& x) {
    return cond(
        less(x, scalar_like(x, 0)),
        [&] {
          v.assign(x);
          return std::vector{x};
        },
        [&] { return std::vector{x}; })[0];
  });
  expect_error(ErrorCode::kInvalidArgument, {"'v'", "branch", "outside"},
               [&] { f(number(1)); });
}

// A tape inside, around a call of another staged function, leaves one plan.
TEST(JitControl, CallsUnderATapeInsideAreExpanded) {
  const auto inner = jit([](const Value& x) { return exp(x * x); });
  const auto slope = jit([&](Value x) {
    Tape outer;
    outer.watch(x);
    Tape tape;
    tape.watch(x);
    const Value first = tape.gradient(inner(x) * x, {&x, 1})[0];
    return std::pair(first, outer.gradient(first, {&x, 1})[0]);
  });
  const auto [first, second] = slope(number(0.5));
  const double e = std::exp(0.25);
  EXPECT_NEAR(first.tensor().item(), e * 1.5, 1e-12);   // e^(x^2) (1 + 2x^2)
  EXPECT_NEAR(second.tensor().item(), e * 3.5, 1e-12);  // e^(x^2) (6x + 4x^3)
}

}  // namespace
}  // namespace weft::testing::jit_control_test
