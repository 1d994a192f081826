#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/graph/builder.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/optimizer.h"
#include "weft/runtime/executable.h"

namespace weft {
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
  const auto optimizer = make_optimizer(name, options);
  Value p = Tensor::of<float>({1}, {1});
  std::vector<Value> slots(optimizer->slots().size(),
                           Tensor::zeros({DType::kF32, {1}}));
  for (int t = 1; t <= kSteps; ++t) {
    const Value g = Tensor::of<float>(
        {1}, {static_cast<float>(gradient_at(t, p.tensor().item()))});
    const auto scalars = optimizer->scalars(Tensor::scalar(kLr, DType::kF32),
                                            Tensor::scalar(t, DType::kF64));
    auto next = optimizer->update(p, g, slots, scalars);
    p = next.parameter;
    slots = std::move(next.slots);
  }
  return p.tensor().item();
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

// For every optimizer there is: f(p) = |p - 3|^2 / 2 ends near 3.
TEST(Optimizer, AllReachTheMinimumOfAQuadratic) {
  for (const OptimizerDef& def : optimizer_registry().all()) {
    SCOPED_TRACE(def.name);
    const auto optimizer = make_optimizer(def.name, {{"weight_decay", 0.0}});
    Value p = Tensor::of<float>({2}, {0, 5});
    std::vector<Value> slots(optimizer->slots().size(),
                             Tensor::zeros({DType::kF32, {2}}));
    for (int t = 1; t <= 1500; ++t) {
      // Falls to nothing, so that those with normalised steps come to rest.
      const double lr = 0.3 * (1 - t / 1501.0);
      const auto scalars = optimizer->scalars(Tensor::scalar(lr, DType::kF32),
                                              Tensor::scalar(t, DType::kF64));
      auto next = optimizer->update(p, p - 3.0, slots, scalars);
      p = next.parameter;
      slots = std::move(next.slots);
    }
    EXPECT_NEAR(p.tensor().item(0), 3, 0.05);
    EXPECT_NEAR(p.tensor().item(1), 3, 0.05);
  }
}

TEST(Optimizer, AllAreTheSameEagerAndStaged) {
  for (const OptimizerDef& def : optimizer_registry().all()) {
    SCOPED_TRACE(def.name);
    const auto optimizer = make_optimizer(def.name, {});
    const std::size_t count = optimizer->slots().size();
    const TensorType type{DType::kF32, {37}};
    FunctionBuilder builder("update");
    std::vector<Value> in;
    for (std::size_t i = 0; i < 2 + count; ++i) {
      in.push_back(builder.parameter(type));
    }
    const Value lr = builder.parameter({DType::kF32, {}});
    const Value step = builder.parameter({DType::kF64, {}});
    const auto update = [&](const std::vector<Value>& x, const Value& rate,
                            const Value& t) {
      auto next = optimizer->update(x[0], x[1], std::span(x).subspan(2),
                                    optimizer->scalars(rate, t));
      std::vector<Value> results{next.parameter};
      for (const Value& slot : next.slots) results.push_back(slot);
      return results;
    };
    Executable executable(builder.build([&] { return update(in, lr, step); }));

    std::vector<Tensor> arguments;
    std::vector<Value> values;
    for (std::size_t i = 0; i < 2 + count; ++i) {
      arguments.push_back(test::pattern({37}, 0.1, 1, i + 1));
      values.emplace_back(arguments.back());
    }
    const Tensor rate = Tensor::scalar(kLr, DType::kF32);
    const Tensor t = Tensor::scalar(3, DType::kF64);
    const auto eager = update(values, rate, t);
    arguments.push_back(rate);
    arguments.push_back(t);
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
}  // namespace weft
