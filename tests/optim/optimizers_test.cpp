#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "tests/support/optimizer_run.h"
#include "tests/support/values.h"

#include "weft/graph/builder.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/optimizer.h"
#include "weft/runtime/executable.h"

namespace weft::optimizers_test {
namespace {

constexpr double kLr = 0.1;
constexpr int kSteps = 5;

// A fixed sequence of gradients for one number.
double gradient_at(int step, double p) { return p * 0.5 + 0.1 * step - 0.2; }

// What a plain loop makes of the same numbers. State is two doubles.
using PlainStep =
    std::function<void(double& p, double g, double& a, double& b, int t)>;

double run_plain(const PlainStep& rule) {
  double p = 1;
  double a = 0;
  double b = 0;
  for (int t = 1; t <= kSteps; ++t) rule(p, gradient_at(t, p), a, b, t);
  return p;
}

double run_eager(const char* name, const Options& options) {
  test::OptimizerRun run(make_optimizer(name, options),
                         {Tensor::of<float>({1}, {1})});
  for (int t = 1; t <= kSteps; ++t) {
    const double g = gradient_at(t, run.parameter().item());
    run.step({Tensor::of<float>({1}, {static_cast<float>(g)})}, kLr);
  }
  return run.parameter().item();
}

TEST(Optimizer, SgdEqualsPlainLoop) {
  EXPECT_NEAR(run_eager("sgd", {{"weight_decay", 0.01}}),
              run_plain([](double& p, double g, double&, double&, int) {
                p -= kLr * (g + 0.01 * p);
              }),
              1e-6);
}

TEST(Optimizer, MomentumEqualsPlainLoop) {
  EXPECT_NEAR(run_eager("momentum", {{"weight_decay", 0.01}}),
              run_plain([](double& p, double g, double& v, double&, int) {
                v = 0.9 * v + g + 0.01 * p;
                p -= kLr * v;
              }),
              1e-6);
}

TEST(Optimizer, NesterovEqualsPlainLoop) {
  EXPECT_NEAR(run_eager("nesterov", {}),
              run_plain([](double& p, double g, double& v, double&, int) {
                v = 0.9 * v + g;
                p -= kLr * (g + 0.9 * v);
              }),
              1e-6);
}

void adam(double& p, double g, double& m, double& v, int t) {
  m = 0.9 * m + 0.1 * g;
  v = 0.999 * v + 0.001 * g * g;
  const double m_hat = m / (1 - std::pow(0.9, t));
  const double v_hat = v / (1 - std::pow(0.999, t));
  p -= kLr * m_hat / (std::sqrt(v_hat) + 1e-8);
}

TEST(Optimizer, AdamEqualsPlainLoop) {
  EXPECT_NEAR(run_eager("adam", {}), run_plain(adam), 1e-5);
  EXPECT_NEAR(run_eager("adam", {{"weight_decay", 0.01}}),
              run_plain([](double& p, double g, double& m, double& v, int t) {
                adam(p, g + 0.01 * p, m, v, t);
              }),
              1e-5);
}

TEST(Optimizer, AdamWDecaysApartFromTheGradient) {
  EXPECT_NEAR(run_eager("adamw", {{"weight_decay", 0.1}}),
              run_plain([](double& p, double g, double& m, double& v, int t) {
                p -= kLr * 0.1 * p;
                adam(p, g, m, v, t);
              }),
              1e-5);
}

TEST(Optimizer, AdagradEqualsPlainLoop) {
  EXPECT_NEAR(run_eager("adagrad", {}),
              run_plain([](double& p, double g, double& s, double&, int) {
                s += g * g;
                p -= kLr * g / (std::sqrt(s) + 1e-10);
              }),
              1e-6);
}

TEST(Optimizer, RmspropEqualsPlainLoop) {
  EXPECT_NEAR(run_eager("rmsprop", {{"momentum", 0.5}}),
              run_plain([](double& p, double g, double& s, double& b, int) {
                s = 0.99 * s + 0.01 * g * g;
                b = 0.5 * b + g / (std::sqrt(s) + 1e-8);
                p -= kLr * b;
              }),
              1e-5);
}

TEST(Optimizer, LionEqualsPlainLoop) {
  EXPECT_NEAR(run_eager("lion", {{"weight_decay", 0.1}}),
              run_plain([](double& p, double g, double& m, double&, int) {
                const double u = 0.9 * m + 0.1 * g;
                p -= kLr * ((u > 0) - (u < 0) + 0.1 * p);
                m = 0.99 * m + 0.01 * g;
              }),
              1e-6);
}

// Matrices by hand, where norms, rows and columns differ.
using Matrix = std::vector<double>;

double norm_of(const Matrix& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

// Gradients of a matrix [2, 3].
Matrix matrix_gradient(int step, const Matrix& p) {
  Matrix g(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    g[i] = p[i] * 0.5 + 0.1 * step - 0.2 * static_cast<double>(i);
  }
  return g;
}

const Matrix kFirst = {1, -2, 3, 0.5, 0.25, -1};

Tensor tensor_of(const Matrix& x) {
  const std::vector<float> values(x.begin(), x.end());
  return Tensor::of<float>({2, 3}, std::span<const float>(values));
}

void expect_matrix_rule(
    const char* name, const Options& options,
    const std::function<void(Matrix& p, const Matrix& g, int t)>& rule) {
  test::OptimizerRun run(make_optimizer(name, options), {tensor_of(kFirst)});
  Matrix p = kFirst;
  for (int t = 1; t <= kSteps; ++t) {
    const Matrix g = matrix_gradient(t, p);
    run.step({tensor_of(g)}, kLr);
    rule(p, g, t);
    EXPECT_TRUE(test::near(run.parameter(), tensor_of(p), 1e-4)) << t;
  }
}

TEST(Optimizer, LarsMovesAMatrixByItsNorm) {
  Matrix v(6, 0);
  expect_matrix_rule("lars", {{"trust", 0.1}, {"weight_decay", 0.01}},
                     [&](Matrix& p, const Matrix& g, int) {
                       const double rate = kLr * 0.1 * norm_of(p) /
                                           (norm_of(g) + 0.01 * norm_of(p));
                       for (std::size_t i = 0; i < p.size(); ++i) {
                         v[i] = 0.9 * v[i] + rate * (g[i] + 0.01 * p[i]);
                       }
                       for (std::size_t i = 0; i < p.size(); ++i) p[i] -= v[i];
                     });
}

TEST(Optimizer, LambMovesAMatrixByItsNorm) {
  Matrix m(6, 0);
  Matrix v(6, 0);
  expect_matrix_rule(
      "lamb", {{"weight_decay", 0.01}}, [&](Matrix& p, const Matrix& g, int t) {
        Matrix u(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
          m[i] = 0.9 * m[i] + 0.1 * g[i];
          v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
          u[i] = m[i] / (1 - std::pow(0.9, t)) /
                     (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8) +
                 0.01 * p[i];
        }
        const double rate = kLr * norm_of(p) / norm_of(u);
        for (std::size_t i = 0; i < p.size(); ++i) p[i] -= rate * u[i];
      });
}

// The moments are kept as R and C, and here made whole again.
TEST(Optimizer, AdafactorKeepsRowsAndColumns) {
  Matrix rows(2, 0);
  Matrix columns(3, 0);
  expect_matrix_rule("adafactor", {}, [&](Matrix& p, const Matrix& g, int t) {
    const double kept = 1 - std::pow(t, -0.8);
    Matrix row_now(2, 0);
    Matrix column_now(3, 0);
    for (std::size_t i = 0; i < 6; ++i) {
      row_now[i / 3] += (g[i] * g[i] + 1e-30) / 3;
      column_now[i % 3] += (g[i] * g[i] + 1e-30) / 2;
    }
    for (int r = 0; r < 2; ++r) {
      rows[r] = kept * rows[r] + (1 - kept) * row_now[r];
    }
    for (int c = 0; c < 3; ++c) {
      columns[c] = kept * columns[c] + (1 - kept) * column_now[c];
    }
    Matrix u(6);
    for (std::size_t i = 0; i < 6; ++i) {
      const double v = rows[i / 3] * columns[i % 3] / ((rows[0] + rows[1]) / 2);
      u[i] = g[i] / std::sqrt(v);
    }
    const double size = norm_of(u) / std::sqrt(6.0);
    const double rate =
        kLr * std::max(1e-3, norm_of(p) / std::sqrt(6.0)) / std::max(1.0, size);
    for (std::size_t i = 0; i < 6; ++i) p[i] -= rate * u[i];
  });
}

TEST(Optimizer, AdafactorRemembersLittle) {
  const auto slots = make_optimizer("adafactor", {})
                         ->slots({"p", {DType::kF32, {5, 300, 400}}});
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[0].type.shape, Shape({5, 300}));
  EXPECT_EQ(slots[1].type.shape, Shape({5, 400}));
}

// Two parameters: what Prodigy learns from one moves the other.
TEST(Optimizer, ProdigyEqualsPlainLoopsOverAllParameters) {
  const std::vector<double> start = {1, -3};
  test::OptimizerRun run(
      make_optimizer("prodigy", {{"first_distance", 0.01}}),
      {Tensor::of<float>({1}, {1}), Tensor::of<float>({1}, {-3})});
  std::vector<double> p = start;
  std::vector<double> s(2, 0);
  std::vector<double> m(2, 0);
  std::vector<double> v(2, 0);
  double d = 0.01;
  double r = 0;
  const double kept = std::sqrt(0.999);
  for (int t = 1; t <= 20; ++t) {
    const std::vector<double> g = {p[0] - 2, 3 * p[1]};
    run.step({Tensor::of<float>({1}, {static_cast<float>(g[0])}),
              Tensor::of<float>({1}, {static_cast<float>(g[1])})},
             1.0);
    r *= kept;
    for (int i = 0; i < 2; ++i) {
      r += (1 - kept) * d * d * g[i] * (start[i] - p[i]);
      s[i] = kept * s[i] + (1 - kept) * d * d * g[i];
    }
    for (int i = 0; i < 2; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * d * g[i];
      v[i] = 0.999 * v[i] + 0.001 * d * d * g[i] * g[i];
      p[i] -= d * m[i] / (std::sqrt(v[i]) + d * 1e-8);
    }
    d = std::max(d, r / (std::abs(s[0]) + std::abs(s[1])));
    EXPECT_NEAR(run.parameter(0).item(), p[0], 1e-3) << t;
    EXPECT_NEAR(run.parameter(1).item(), p[1], 1e-3) << t;
    EXPECT_NEAR(run.shared(0).item(), d, 1e-3 * d) << t;
  }
  EXPECT_GT(d, 0.02);  // else nothing was learnt
}

// For every optimizer there is: f(p) = |p - 3|^2 / 2 ends near 3.
TEST(Optimizer, AllReachTheMinimumOfAQuadratic) {
  for (const OptimizerDef& def : optimizer_registry().all()) {
    SCOPED_TRACE(def.name);
    Options options;
    for (const OptionSpec& spec : def.options) {
      if (spec.name == "weight_decay") options[spec.name] = 0.0;
    }
    // A matrix: layer-wise rates and factored moments concern these alone.
    test::OptimizerRun run(make_optimizer(def.name, options),
                           {Tensor::of<float>({1, 2}, {0, 5})});
    const double scale = def.name == "lars" ? 500 : 1;  // its trust is 0.001
    for (int t = 1; t <= 1500; ++t) {
      // Falls to nothing, so that those with normalised steps come to rest.
      const double lr = 0.3 * (1 - t / 1501.0) * scale;
      run.step({Value(run.parameter()) - 3.0}, lr);
    }
    EXPECT_NEAR(run.parameter().item(0), 3, 0.05);
    EXPECT_NEAR(run.parameter().item(1), 3, 0.05);
  }
}

TEST(Optimizer, AllAreTheSameEagerAndStaged) {
  for (const OptimizerDef& def : optimizer_registry().all()) {
    SCOPED_TRACE(def.name);
    const auto optimizer = make_optimizer(def.name, {});
    const TensorType type{DType::kF32, {37, 3}};
    const std::size_t own = optimizer->slots({"p", type}).size();
    // (parameter, gradient, slots…, shared slots…, rate, step)
    std::vector<Tensor> arguments{test::pattern({37, 3}, 0.1, 1, 1),
                                  test::pattern({37, 3}, 0.1, 1, 2)};
    for (const Slot& slot : optimizer->slots({"p", type})) {
      arguments.push_back(
          test::pattern(slot.type.shape, 0.1, 1, arguments.size() + 1));
    }
    for (const Slot& slot : optimizer->shared_slots()) {
      arguments.push_back(initial_slot(slot));
    }
    arguments.push_back(Tensor::scalar(kLr, DType::kF32));
    arguments.push_back(Tensor::scalar(3, DType::kF64));
    const auto update = [&](const std::vector<Value>& x) {
      ParameterStep step{.name = "p",
                         .parameter = x[0],
                         .gradient = x[1],
                         .slots = {x.begin() + 2, x.begin() + 2 + own}};
      std::vector<Value> shared(x.begin() + 2 + own, x.end() - 2);
      optimizer->update({&step, 1}, shared, {x[x.size() - 2], x.back()});
      std::vector<Value> results{step.parameter};
      results.insert(results.end(), step.slots.begin(), step.slots.end());
      results.insert(results.end(), shared.begin(), shared.end());
      return results;
    };
    FunctionBuilder builder("update");
    std::vector<Value> in;
    for (const Tensor& argument : arguments) {
      in.push_back(builder.parameter(argument.type()));
    }
    Executable executable(builder.build([&] { return update(in); }));
    const auto eager = update({arguments.begin(), arguments.end()});
    const auto staged = executable.run(arguments);
    for (std::size_t i = 0; i < eager.size(); ++i) {
      EXPECT_TRUE(test::near(staged[i], eager[i].tensor(), 1e-6));
    }
  }
}

TEST(Optimizer, RefusesWhatMakesNoSense) {
  EXPECT_THROW(make_optimizer("momentum", {{"momentum", 1.5}}), Error);
  EXPECT_THROW(make_optimizer("adma", {}), Error);
  EXPECT_THROW(make_optimizer("sgd", {{"momentum", 0.9}}), Error);
}

}  // namespace
}  // namespace weft::optimizers_test
