// Branches, loops and recursion in staged functions.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/values.h"

#include "weft/ops/control.h"
#include "weft/runtime/host_func.h"
#include "weft/runtime/jit/jit.h"
#include "weft/tensor/allocator.h"

namespace weft::testing {
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

// --- Runs that wait for their gradients ----------------------------------

Value whole(std::int64_t x) { return i64({}, {x}); }

// x^n by a recursion that says how often its body ran.
struct Power {
  int runs = 0;
  std::function<Value(const Value&, const Value&)> self;

  Value operator()(const Value& x, const Value& n) {
    return cond(
        less_equal(n, scalar_like(n, 0)),
        [&] { return std::vector{ones_like(x)}; },
        [&] {
          const Value counted = host_func(
              [this](const std::vector<Value>& in) {
                ++runs;
                return std::vector{in[0] - 1};
              },
              {n}, {n.type()})[0];
          return std::vector{x * self(x, counted)};
        })[0];
  }
};

JitOptions power_options() {
  return {.name = "power", .results = {{TensorType{DType::kF64, {}}}}};
}

TEST(KeptRun, GoesForwardOnce) {
  Power body;
  const auto power =
      jit([&](const Value& x, const Value& n) { return body(x, n); },
          power_options());
  body.self = [&](const Value& x, const Value& n) { return power(x, n); };
  // The runs of one tape do not get in each other's way, and end in any order.
  Value x = number(3);
  Tape tape;
  tape.watch(x);
  const Value cube = power(x, whole(3));
  const Value square = power(x, whole(2));
  EXPECT_EQ(cube.tensor().item(), 27);
  EXPECT_EQ(square.tensor().item(), 9);
  EXPECT_EQ(body.runs, 5);
  EXPECT_EQ(tape.gradient(cube + square * 2, {&x, 1})[0].tensor().item(),
            27 + 12);
  EXPECT_EQ(body.runs, 5);
}

TEST(KeptRun, IsComputedAgainForASecondGradient) {
  Power body;
  const auto power =
      jit([&](const Value& x, const Value& n) { return body(x, n); },
          power_options());
  body.self = [&](const Value& x, const Value& n) { return power(x, n); };
  Value x = number(3);
  {
    Tape tape({.is_persistent = true});
    tape.watch(x);
    const Value y = power(x, whole(3));
    EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 27);
    EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 27);
  }
  // A tape around the tape differentiates the gradient.
  Tape outer;
  outer.watch(x);
  Tape inner;
  inner.watch(x);
  const Value y = power(x, whole(3));
  const Value slope = inner.gradient(y, {&x, 1})[0];
  EXPECT_EQ(slope.tensor().item(), 27);
  EXPECT_EQ(outer.gradient(slope, {&x, 1})[0].tensor().item(), 18);
}

// The gradient may also be asked for while another tape watches the run's
// results, which did not when it ran.
TEST(KeptRun, IsDifferentiatedByALaterTape) {
  const auto f = jit([](const Value& x) {
    return cond(
        less(x, scalar_like(x, 0)), [&] { return std::vector{x}; },
        [&] { return std::vector{x * x * x}; })[0];
  });
  Value x = number(2);
  Tape tape;
  tape.watch(x);
  const Value y = f(x);
  tape.stop();
  Value seed = number(5);
  Tape later;
  later.watch(seed);
  const Value dx = tape.gradient({&y, 1}, {&seed, 1}, {&x, 1})[0];
  EXPECT_EQ(dx.tensor().item(), 60);
  EXPECT_EQ(later.gradient(dx, {&seed, 1})[0].tensor().item(), 12);
}

TEST(KeptRun, FreesWhatItComputedWithTheTape) {
  const auto f = jit([](const Value& x) {
    return while_loop(
        {x, scalar_like(x, 0)},
        [](const auto& v) {
          return less(reduce_max(v[1]), scalar(10, DType::kF64));
        },
        [](const auto& v) {
          return std::vector{tanh(v[0]), v[1] + 1};
        })[0];
  });
  const auto run = [&](bool asks) {
    Value x = Tensor::zeros({DType::kF64, {1000}});
    Tape tape;
    tape.watch(x);
    const Value y = sum(f(x));
    if (asks) tape.gradient(y, {&x, 1});
    return live_bytes();
  };
  run(true);
  const std::int64_t before = live_bytes();
  run(false);
  EXPECT_EQ(live_bytes(), before);
  run(true);
  EXPECT_EQ(live_bytes(), before);
}

// With one worker and several, batched and not, as with the tape inside.
TEST(KeptRun, HasTheSameGradientHoweverItIsRun) {
  const TensorType type{DType::kF64, {2, 2}};
  const Value w = Tensor::of<double>({2, 2}, {0.3, -0.2, 0.5, 0.1});
  std::vector<TaggedOptions> ways(4);
  ways[1].workers = 3;
  ways[2].batching = Batching::kAlways;
  ways[3].batching = Batching::kNever;
  for (const TaggedOptions& way : ways) {
    std::function<Value(const Value&, const Value&, const Value&)> self;
    const auto tree = jit(
        [&](const Value& x, const Value& m, const Value& n) {
          return cond(
              less(n, scalar_like(n, 2)), [&] { return std::vector{x}; },
              [&] {
                const Value left = self(tanh(matmul(x, m)), m, n - 1);
                const Value right = self(x * x, m, n - 2);
                return std::vector{left + matmul(right, m)};
              })[0];
        },
        {.name = "tree", .results = {{type}}, .tagged = way});
    self = [&](const Value& x, const Value& m, const Value& n) {
      return tree(x, m, n);
    };
    const auto gradient = [&](const std::vector<Value>& at, const Value& n) {
      std::vector<Value> wrt = at;
      Tape tape;
      for (Value& each : wrt) tape.watch(each);
      return tape.gradient(sum(tree(wrt[0], wrt[1], n)), wrt);
    };
    const auto inside = jit(
        [&](const Value& x, const Value& m, const Value& n) {
          return gradient({x, m}, n);
        },
        {.tagged = way});
    for (const std::int64_t depth : {1, 4, 7}) {
      const Value x = Tensor::of<double>({2, 2}, {1, 2, -1, 0.5});
      const auto expected = inside(x, w, whole(depth));
      const auto actual = gradient({x, w}, whole(depth));
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(
            test::near(actual[i].tensor(), expected[i].tensor(), 1e-12));
      }
    }
  }
}

// Only some of the results, of all dtypes, have gradients; inputs that nobody
// watches have none.
TEST(KeptRun, TakesTheGradientsThatArrive) {
  const auto f = jit([](const Value& x, const Value& w, const Value& n) {
    const auto both = cond(
        less(n, scalar_like(n, 2)),
        [&] {
          return std::vector{x * w, n + 1, x};
        },
        [&] {
          return std::vector{x * w * w, n + 2, w};
        });
    return std::vector{both[0], both[1], both[2] * 3, n};
  });
  Value w = number(5);
  Tape tape;
  tape.watch(w);
  const auto y = f(number(3), w, i64({}, {7}));
  EXPECT_EQ(y[1].tensor().item(), 9);
  EXPECT_EQ(y[3].tensor().item(), 7);
  EXPECT_EQ(tape.gradient(y[0], {&w, 1})[0].tensor().item(), 30);
}

TEST(KeptRun, SeesVariablesAsTheyWere) {
  const Variable v(number(2));
  const auto f = jit([&](const Value& x) {
    const Value y = cond(
        less(x, scalar_like(x, 0)), [&] { return std::vector{x}; },
        [&] { return std::vector{x * x * v.read()}; })[0];
    v.assign(v.read() * 10);
    return y;
  });
  Value x = number(3);
  Tape tape;
  tape.watch(x);
  const Value y = f(x);
  EXPECT_EQ(v.read().tensor().item(), 20);
  EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 12);
}

TEST(KeptRun, AfterAnErrorTheNextOneRuns) {
  Power body;
  const auto power =
      jit([&](const Value& x, const Value& n) { return body(x, n); },
          {.name = "power",
           .results = {{TensorType{DType::kF64, {}}}},
           .tagged = {.max_frames = 20}});
  body.self = [&](const Value& x, const Value& n) { return power(x, n); };
  Value x = number(2);
  for (int i = 0; i < 2; ++i) {
    Tape tape;
    tape.watch(x);
    EXPECT_THROW(power(x, whole(1000)), Error);
    const Value y = power(x, whole(4));
    EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 32);
  }
}

// The memory of a variable stays where it is, with branches as without.
TEST(JitControl, AssignedVariablesAreOverwrittenInPlace) {
  const Variable v(Tensor::zeros({DType::kF32, {1000}}));
  const auto step = jit([&](const Value& x) {
    const Value rate = cond(
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

// As for branches; the result of a loop has memory of its own.
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
}  // namespace weft::testing
