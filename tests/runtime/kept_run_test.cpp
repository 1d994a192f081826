// Runs of staged functions that wait for their gradients.
#include "weft/runtime/jit/kept_run.h"

#include <gtest/gtest.h>

#include "tests/support/exact.h"
#include "tests/support/values.h"

#include "weft/ops/control.h"
#include "weft/runtime/host_func.h"
#include "weft/runtime/jit/jit.h"
#include "weft/runtime/transforms.h"
#include "weft/tensor/allocator.h"

namespace weft::testing::kept_run_test {
namespace {

Value number(double x) { return Tensor::scalar(x); }
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

// `body` staged, which it calls for the next power; it must outlive what is
// returned.
auto staged(Power& body, TaggedOptions tagged = {}) {
  const auto power =
      jit([&body](const Value& x, const Value& n) { return body(x, n); },
          {.name = "power",
           .results = {{TensorType{DType::kF64, {}}}},
           .tagged = std::move(tagged)});
  body.self = [power](const Value& x, const Value& n) { return power(x, n); };
  return power;
}

TEST(KeptRun, GoesForwardOnce) {
  Power body;
  const auto power = staged(body);
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
  const auto power = staged(body);
  Value x = number(3);
  {
    Tape tape({.is_persistent = true});
    tape.watch(x);
    const Value y = power(x, whole(3));
    EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 27);
    EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 27);
  }
  EXPECT_EQ(body.runs, 6);
}

// Two tapes share one run, in whatever order and however often they ask.
TEST(KeptRun, GoesForwardOnceForTwoTapes) {
  Power body;
  const auto power = staged(body);
  Value x = number(3);
  const auto twice = [&](auto&& ask) {
    body.runs = 0;
    Tape outer({.is_persistent = true});
    outer.watch(x);
    Tape inner({.is_persistent = true});
    inner.watch(x);
    const Value y = power(x, whole(3));
    const Value slope = inner.gradient(y, {&x, 1})[0];
    EXPECT_EQ(slope.tensor().item(), 27);
    // Or it would see what the outer one computes.
    inner.stop();
    ask(outer, inner, y, slope);
  };
  const auto of = [&](Tape& tape, const Value& root) {
    return tape.gradient(root, {&x, 1})[0].tensor().item();
  };
  twice([&](Tape& outer, Tape&, const Value&, const Value& slope) {
    EXPECT_EQ(of(outer, slope), 18);
    EXPECT_EQ(body.runs, 3);
    EXPECT_EQ(of(outer, slope), 18);
    EXPECT_GT(body.runs, 3);
  });
  // The value and its gradient, both of which depend on x.
  twice([&](Tape& outer, Tape&, const Value& y, const Value& slope) {
    EXPECT_EQ(of(outer, y * 2 + slope * slope), 2 * 27 + 2 * 27 * 18);
    EXPECT_EQ(body.runs, 3);
  });
  // The value alone: the run has gone backward for the inner tape.
  twice([&](Tape& outer, Tape&, const Value& y, const Value&) {
    EXPECT_EQ(of(outer, y), 27);
  });
  twice([&](Tape& outer, Tape& inner, const Value& y, const Value& slope) {
    const Value again = inner.gradient(y, {&x, 1})[0];
    EXPECT_EQ(of(outer, slope + again), 36);
  });
}

TEST(KeptRun, GoesForwardOnceForATangent) {
  Power body;
  const auto power = staged(body);
  const auto moved = jvp(
      [&](const std::vector<Value>& v) {
        return std::vector{power(v[0], v[1])};
      },
      {number(3), whole(3)}, {number(0.5), Value()});
  EXPECT_EQ(moved.outputs[0].tensor().item(), 27);
  EXPECT_EQ(moved.tangents[0].tensor().item(), 13.5);
  EXPECT_EQ(body.runs, 3);
}

// What a third tape asks for is computed anew, and right.
TEST(KeptRun, IsRightForThreeTapes) {
  const auto f = jit([](const Value& x, const Value& w) {
    return while_loop(
        {x, i64({}, {0})},
        [](const auto& v) { return less(v[1], i64({}, {2})); },
        [&](const auto& v) {
          return std::vector{v[0] * v[0] * w, v[1] + 1};
        })[0];
  });
  Value x = number(1.5);
  Value w = number(0.5);
  Tape third;
  third.watch(x);
  third.watch(w);
  Tape second;
  second.watch(x);
  Tape first;
  first.watch(x);
  const Value y = f(x, w);  // w^3 x^4
  const Value dx = first.gradient(y, {&x, 1})[0];
  const Value dxx = second.gradient(dx + y, {&x, 1})[0];
  const double w3 = 0.125;
  EXPECT_NEAR(dxx.tensor().item(), w3 * (12 * 2.25 + 4 * 3.375), 1e-12);
  const auto all = third.gradient(dxx, std::vector{x, w});
  EXPECT_NEAR(all[0].tensor().item(), w3 * (24 * 1.5 + 12 * 2.25), 1e-12);
  EXPECT_NEAR(all[1].tensor().item(), 3 * 0.25 * (12 * 2.25 + 4 * 3.375),
              1e-12);
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
  // No op runs at once here: its kernel would keep scratch until another op
  // gets its place among the prepared ones, which are found by address.
  const auto run = [&](bool asks) {
    Value x = Tensor::zeros({DType::kF64, {1000}});
    const Value seed = Tensor::zeros(x.type());
    Tape tape;
    tape.watch(x);
    const Value y = f(x);
    if (asks) tape.gradient({&y, 1}, {&seed, 1}, {&x, 1});
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
    Value y = cond(
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
  const auto power = staged(body, {.max_frames = 20});
  Value x = number(2);
  for (int i = 0; i < 2; ++i) {
    Tape tape;
    tape.watch(x);
    EXPECT_THROW(power(x, whole(1000)), Error);
    const Value y = power(x, whole(4));
    EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 32);
  }
}

// What is assigned does not depend on how many tapes see it, or what they ask.
TEST(KeptRun, AssignsVariablesOnceForTwoTapes) {
  const Variable v(number(2));
  const auto f = jit([&](const Value& x) {
    Value y = cond(
        less(x, scalar_like(x, 0)), [&] { return std::vector{x}; },
        [&] { return std::vector{x * x * x * v.read()}; })[0];
    v.assign(v.read() * 10);
    return y;
  });
  Value x = number(3);
  Tape outer;
  outer.watch(x);
  Tape inner;
  inner.watch(x);
  const Value slope = inner.gradient(f(x), {&x, 1})[0];
  EXPECT_EQ(slope.tensor().item(), 54);
  EXPECT_EQ(outer.gradient(slope, {&x, 1})[0].tensor().item(), 36);
  EXPECT_EQ(v.read().tensor().item(), 20);
}

}  // namespace
}  // namespace weft::testing::kept_run_test
