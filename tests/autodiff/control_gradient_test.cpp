// Gradients through calls, branches and loops, run by nested calls.
#include "weft/autodiff/control_gradient.h"

#include <gtest/gtest.h>
#include <random>

#include "tests/support/nested_calls.h"
#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/text.h"
#include "weft/runtime/eager.h"

namespace weft::control_gradient_test {
namespace {

using test::kNumber;
using test::kReal;
using test::NestedCalls;
using test::numbers;
using test::Values;

// `body` and its gradient with respect to its floating arguments.
FunctionRef add_with_gradient(Program& program, const std::string& name,
                              const std::vector<TensorType>& parameters,
                              const Program::Body& body) {
  return program.define(name, parameters, [&](const Values& x) {
    Values results{body(x).at(0)};
    Values wrt;
    for (const Value& value : x) {
      if (is_floating(value.dtype())) wrt.push_back(value);
    }
    for (const Value& gradient : gradients(results[0], wrt)) {
      results.push_back(gradient);
    }
    return results;
  });
}

std::vector<double> run_reals(NestedCalls& calls, std::string_view function,
                              std::initializer_list<double> arguments) {
  std::vector<Tensor> tensors;
  for (const double x : arguments) tensors.push_back(Tensor::scalar(x));
  std::vector<double> results;
  for (const Tensor& result : calls.run(function, tensors)) {
    results.push_back(result.item());
  }
  return results;
}

// (f(x + h) - f(x - h)) / 2h for result 0 of `function` and each element of
// each floating argument, against the results after it.
void expect_slopes(NestedCalls& calls, std::string_view function,
                   const std::vector<Tensor>& arguments,
                   double tolerance = 1e-6) {
  constexpr double kStep = 1e-5;
  const auto results = calls.run(function, arguments);
  std::size_t next = 1;
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    if (!is_floating(arguments[a].dtype())) continue;
    const auto gradient = numbers(results.at(next++));
    ASSERT_EQ(gradient.size(), static_cast<std::size_t>(arguments[a].size()));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const auto at = [&](double offset) {
        std::vector<Tensor> moved = arguments;
        moved[a] = arguments[a].clone();
        moved[a].data<double>()[i] += offset;
        return calls.run(function, moved)[0].item();
      };
      const double slope = (at(kStep) - at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(gradient[i], slope, tolerance * (1 + std::abs(slope)))
          << function << ", argument " << a << ", element " << i;
    }
  }
}

TEST(ControlGradient, OfFactorial) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  add_with_gradient(program, "main", {kReal},
                    [&](const Values& x) { return call(fac, x); });
  const Graph graph = program.build();
  NestedCalls calls(graph);
  EXPECT_EQ(run_reals(calls, "main", {5}), (std::vector<double>{120, 154}));
  EXPECT_EQ(run_reals(calls, "main", {5.5}),
            (std::vector<double>{324.84375, 570.5625}));
  // Each activation of the joint is begun once, for both phases.
  EXPECT_EQ(calls.activations("fac.joint"), 6);
  EXPECT_EQ(calls.activations("fac"), 0);
  EXPECT_EQ(run_reals(calls, "main", {0.5}), (std::vector<double>{1, 0}));
}

TEST(ControlGradient, TakesTheStepOfGradientDescent) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  program.define("step", {kReal}, [&](const Values& n) {
    const Value loss = test::call_one(fac, {n[0] + 1}) + 1;
    return Values{n[0] - gradients(loss, n)[0] * 0.01};
  });
  NestedCalls calls(program.build());
  EXPECT_NEAR(run_reals(calls, "step", {4})[0], 2.46, 1e-12);
}

TEST(ControlGradient, GoesToTheTextAndBack) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  add_with_gradient(program, "main", {kReal},
                    [&](const Values& x) { return call(fac, x); });
  const Graph read = parse_graph(to_string(program.build()));
  EXPECT_EQ(to_string(parse_graph(to_string(read))), to_string(read));
  NestedCalls calls(read);
  EXPECT_EQ(run_reals(calls, "main", {5}), (std::vector<double>{120, 154}));
}

// d/dx and d2/dx2 of fac at 5.5, where fac(x) is a polynomial around.
TEST(ControlGradient, OfAGradient) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  const FunctionRef slope = program.define(
      "slope", {kReal},
      [&](const Values& x) { return gradients(test::call_one(fac, x), x); });
  // Through a function that takes a gradient, and twice in one function.
  add_with_gradient(program, "called", {kReal},
                    [&](const Values& x) { return call(slope, x); });
  add_with_gradient(program, "inside", {kReal}, [&](const Values& x) {
    return gradients(test::call_one(fac, x), x);
  });
  // x²·fac'(x)·fac(x): the first gradient depends on both phases.
  add_with_gradient(program, "mixed", {kReal}, [&](const Values& x) {
    const Value y = test::call_one(fac, x);
    return Values{square(x[0]) * gradients(square(y), x)[0] * y};
  });
  NestedCalls calls(program.build());
  // fac(x) = Π (x - i): the sum over pairs of the products of the others.
  double second = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      if (i == j) continue;
      double term = 1;
      for (int k = 0; k < 5; ++k) {
        if (k != i && k != j) term *= 5.5 - k;
      }
      second += term;
    }
  }
  for (const char* name : {"called", "inside"}) {
    const auto results = run_reals(calls, name, {5.5});
    EXPECT_EQ(results[0], 570.5625) << name;
    EXPECT_NEAR(results[1], second, 1e-9) << name;
  }
  expect_slopes(calls, "mixed", {Tensor::scalar(3.3)});
}

TEST(ControlGradient, OfAThirdOrder) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  add_with_gradient(program, "third", {kReal}, [&](const Values& x) {
    const Value first = gradients(test::call_one(fac, x), x)[0];
    return gradients(first, x);
  });
  NestedCalls calls(program.build());
  // x (x - 1): only 2.5 and 1.5 are multiplied, so the third vanishes; at 3.5
  // there are three factors.
  EXPECT_EQ(run_reals(calls, "third", {2.5}), (std::vector<double>{2, 0}));
  EXPECT_NEAR(run_reals(calls, "third", {3.5})[1], 6, 1e-9);
}

TEST(ControlGradient, OfTwoRootsOfOneCall) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  program.define("main", {kReal}, [&](const Values& x) {
    const Value y = test::call_one(fac, x);
    const Value first = gradients(y * 2, x)[0];
    const Value second = gradients(square(y), x)[0];
    return Values{first, second};
  });
  NestedCalls calls(program.build());
  const auto results = run_reals(calls, "main", {5});
  EXPECT_NEAR(results[0], 2 * 154, 1e-9);
  EXPECT_NEAR(results[1], 2 * 120 * 154, 1e-9);
}

TEST(ControlGradient, OfBranches) {
  Program program;
  add_with_gradient(program, "main", {kReal, kReal, kNumber},
                    [](const Values& x) {
                      const Value twice = x[0] * 2;
                      const Value y = cond(
                          less(x[0], x[1]),
                          [&] {
                            return Values{twice * x[1], x[0]};
                          },
                          [&] {
                            return Values{test::real(7), square(x[1])};
                          })[0];
                      return Values{y + x[1]};
                    });
  NestedCalls calls(program.build());
  const auto at = [&](double a, double b) {
    std::vector<double> values;
    for (const Tensor& tensor :
         calls.run("main", {{Tensor::scalar(a), Tensor::scalar(b),
                             Tensor::scalar<std::int64_t>(1)}})) {
      values.push_back(tensor.item());
    }
    return values;
  };
  EXPECT_EQ(at(2, 3), (std::vector<double>{15, 6, 5}));
  EXPECT_EQ(at(4, 3), (std::vector<double>{10, 0, 1}));
}

TEST(ControlGradient, OfLoopsAgainstDifferences) {
  Program program;
  const TensorType vector{DType::kF64, {symbol("N")}};
  const TensorType matrix{DType::kF64, {3, 3}};
  // h <- tanh(W h) until it has been done n times.
  add_with_gradient(
      program, "while", {matrix, {DType::kF64, {3, 1}}, kNumber},
      [](const Values& x) {
        const Value h = while_loop(
            {x[1], x[2]},
            [](const Values& v) { return greater(v[1], test::number(0)); },
            [&](const Values& v) {
              return Values{tanh(matmul(x[0], v[0])), v[1] - 1};
            })[0];
        return Values{sum(square(h))};
      });
  for (const bool reverse : {false, true}) {
    add_with_gradient(program, reverse ? "reverse" : "scan", {kReal, vector},
                      [&](const Values& x) {
                        const Values results = scan(
                            {x[0]}, {x[1]},
                            [&](const Values& carried, const Values& slices) {
                              const Value next =
                                  tanh(carried[0] * x[0] + slices[0]);
                              return Values{next, square(next) * slices[0]};
                            },
                            reverse);
                        return Values{results[0] + sum(results[1])};
                      });
  }
  NestedCalls calls(program.build());
  const auto random = [](const Shape& shape) {
    Tensor tensor = Tensor::empty({DType::kF64, shape});
    std::mt19937 bits(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& x : tensor.span<double>()) x = uniform(bits);
    return tensor;
  };
  for (const std::int64_t times : {0, 1, 4}) {
    expect_slopes(calls, "while",
                  {random({3, 3}), random({3, 1}), Tensor::scalar(times)});
  }
  for (const char* name : {"scan", "reverse"}) {
    expect_slopes(calls, name, {Tensor::scalar(0.6), random({4})});
    expect_slopes(calls, name, {Tensor::scalar(0.6), random({1})});
  }
}

// h(node) = is leaf ? embedding : tanh([h(left), h(right)] W + b), summed.
Value tree_sum(const FunctionRef& tree, const Values& x) {
  Values arguments{test::number(0)};
  arguments.insert(arguments.end(), x.begin(), x.end());
  return sum(square(test::call_one(tree, arguments)));
}

// Nodes 0 .. n-1, children after their parents; a leaf has left < 0.
struct Tree {
  Tensor left;
  Tensor right;

  explicit Tree(std::uint32_t seed) {
    std::mt19937 bits(seed);
    std::vector<std::int64_t> lefts{-1};
    std::vector<std::int64_t> rights{-1};
    for (std::size_t node = 0; node < lefts.size() && lefts.size() < 12;
         ++node) {
      if (node > 0 && bits() % 3 == 0) continue;
      lefts[node] = static_cast<std::int64_t>(lefts.size());
      rights[node] = lefts[node] + 1;
      lefts.resize(lefts.size() + 2, -1);
      rights.resize(rights.size() + 2, -1);
    }
    const auto count = static_cast<Dim>(lefts.size());
    left = Tensor::of<std::int64_t>({count}, lefts);
    right = Tensor::of<std::int64_t>({count}, rights);
  }
};

TEST(ControlGradient, OfTreesEqualsDifferencesAndEager) {
  constexpr Dim kWidth = 2;
  const TensorType weights{DType::kF64, {2 * kWidth, kWidth}};
  const TensorType embeddings{DType::kF64, {symbol("N"), kWidth}};
  const TensorType children{DType::kI64, {symbol("N")}};
  const TensorType row{DType::kF64, {1, kWidth}};

  const auto combine = [](const Value& weight, const Value& l, const Value& r) {
    return tanh(matmul(concat(Values{l, r}, 1), weight));
  };
  Program program;
  const FunctionRef tree = program.declare(
      "tree", {{kNumber, weights, embeddings, children, children}, {row}});
  program.define(tree, [&](const Values& x) {
    const Value left = gather(x[3], x[0]);
    return cond(
        less(left, test::number(0)),
        [&] {
          return Values{reshape(gather(x[2], x[0]), {1, kWidth})};
        },
        [&] {
          const Value right = gather(x[4], x[0]);
          return Values{combine(
              x[1], test::call_one(tree, {left, x[1], x[2], x[3], x[4]}),
              test::call_one(tree, {right, x[1], x[2], x[3], x[4]}))};
        });
  });
  add_with_gradient(program, "main", {weights, embeddings, children, children},
                    [&](const Values& x) { return Values{tree_sum(tree, x)}; });
  NestedCalls calls(program.build());

  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    const Tree shape(seed);
    const auto filled = [&](const Shape& dims) {
      Tensor tensor = Tensor::empty({DType::kF64, dims});
      std::mt19937 bits(seed);
      std::uniform_real_distribution<double> uniform(-1, 1);
      for (double& x : tensor.span<double>()) x = uniform(bits);
      return tensor;
    };
    const Tensor weight = filled({2 * kWidth, kWidth});
    const Tensor words = filled({shape.left.size(), kWidth});
    const std::vector<Tensor> arguments{weight, words, shape.left, shape.right};
    expect_slopes(calls, "main", arguments);

    // The same, run at once: C++ recurses, a tape records.
    Tape tape;
    Value w = weight;
    Value e = words;
    tape.watch(w);
    tape.watch(e);
    const std::function<Value(std::int64_t)> eager = [&](std::int64_t node) {
      const std::int64_t left = shape.left.data<std::int64_t>()[node];
      const std::int64_t right = shape.right.data<std::int64_t>()[node];
      if (left < 0) return reshape(gather(e, test::number(node)), {1, kWidth});
      return combine(w, eager(left), eager(right));
    };
    const Value loss = sum(square(eager(0)));
    const auto expected = tape.gradient(loss, Values{w, e});
    const auto actual = calls.run("main", arguments);
    EXPECT_TRUE(test::near(actual[0], loss.tensor(), 1e-12));
    EXPECT_TRUE(test::near(actual[1], expected[0].tensor(), 1e-12));
    EXPECT_TRUE(test::near(actual[2], expected[1].tensor(), 1e-12));
  }
}

// f(n, w) = n <= 0 ? 0 : w + f(n - 1, w), so df/dw counts the activations.
TEST(ControlGradient, OfAParameterIsTheSumOverActivations) {
  Program program;
  const FunctionRef f = program.declare("f", {{kNumber, kReal}, {kReal}});
  program.define(f, [&](const Values& x) {
    return cond(
        less_equal(x[0], test::number(0)),
        [&] { return Values{test::real(0)}; },
        [&] {
          return Values{x[1] + test::call_one(f, {x[0] - 1, x[1]})};
        });
  });
  add_with_gradient(program, "main", {kNumber, kReal},
                    [&](const Values& x) { return call(f, x); });
  NestedCalls calls(program.build());
  const auto results = calls.run(
      "main", {{Tensor::scalar<std::int64_t>(9), Tensor::scalar(0.5)}});
  EXPECT_EQ(results[0].item(), 4.5);
  EXPECT_EQ(results[1].item(), 9);
}

// Two results, of which one is used, and mutual recursion.
TEST(ControlGradient, OfMutualRecursionWithTwoResults) {
  Program program;
  const Signature signature{{kReal, kNumber}, {kReal, kReal}};
  const FunctionRef f = program.declare("F", signature);
  const FunctionRef g = program.declare("G", signature);
  program.define(f, [&](const Values& x) {
    return cond(
        less_equal(x[1], test::number(0)),
        [&] {
          return Values{x[0], square(x[0])};
        },
        [&] {
          const Values below = call(g, Values{x[0] * 1.1, x[1] - 1});
          return Values{below[0] * x[0], below[1] + below[0]};
        });
  });
  program.define(g, [&](const Values& x) {
    const Values below = call(f, x);
    return Values{tanh(below[1]), below[0] * x[0]};
  });
  for (const std::size_t which : {0u, 1u}) {
    add_with_gradient(
        program, which == 0 ? "first" : "second", {kReal, kNumber},
        [&](const Values& x) { return Values{call(f, x)[which]}; });
  }
  NestedCalls calls(program.build());
  for (const std::int64_t depth : {0, 1, 2, 5}) {
    for (const char* name : {"first", "second"}) {
      expect_slopes(calls, name, {Tensor::scalar(0.8), Tensor::scalar(depth)});
    }
  }
}

TEST(ControlGradient, NeedsBodies) {
  Program program;
  const FunctionRef f = program.declare("f", {{kReal}, {kReal}});
  program.define("main", {kReal}, [&](const Values& x) {
    const Value y = test::call_one(f, x);
    EXPECT_THROW(gradients(y, x), Error);
    return Values{y};
  });
}

}  // namespace
}  // namespace weft::control_gradient_test
