// weft-bench in-noise --rule TEXT --workers M --liars F --size D --steps T
// --rate R --runs N: stochastic gradients of (1/2) |x - x*|² whose noise is
// uniform on a unit sphere, so that V = 1; liars send the gradient with one
// unit vector, the same for ever, which no single step tells from noise.
//
// The iterate is projected onto the ball of radius 1 around zero, the optimum
// lies within, and the error is that of the average iterate: the setting of
// Alistarh, Allen-Zhu and Li ("Byzantine Stochastic Gradient Descent", NeurIPS
// 2018). A run has lost a right worker if ByzantineSGD has dropped one.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "tests/support/rule_steps.h"

#include "weft/base/philox.h"

namespace weft::bench {
namespace {

constexpr double kRadius = 1;
constexpr double kOptimum = 0.5;  // its distance from zero

double length_of(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

// Uniform on the unit sphere.
std::vector<double> direction(std::uint64_t seed, std::uint32_t worker,
                              std::uint32_t step, std::size_t size) {
  const RandomStream random{seed, worker, step};
  std::vector<double> result(size);
  for (std::size_t i = 0; i < size; i += 2) {
    const auto words = random.block(i / 2);
    const auto pair = normal_from(words[0], words[1]);
    result[i] = static_cast<double>(pair[0]);
    if (i + 1 < size) result[i + 1] = static_cast<double>(pair[1]);
  }
  const double length = length_of(result);
  for (double& value : result) value /= length;
  return result;
}

struct Outcome {
  double error = 0;
  bool has_lost_right_ones = false;
};

struct Problem {
  std::string rule;
  int workers = 0;
  int liars = 0;
  std::size_t size = 0;
  std::int64_t steps = 0;
  double rate = 0;
};

// "oracle" knows who lies.
Outcome run(const Problem& problem, std::uint64_t seed) {
  const bool is_oracle = problem.rule == "oracle";
  const int right = problem.workers - problem.liars;
  test::RuleSteps rule(is_oracle ? "mean" : problem.rule, problem.workers,
                       problem.size, seed);
  const std::vector<double> toward = direction(seed, 1u << 20, 0, problem.size);
  const std::vector<double> lie =
      direction(seed, (1u << 20) + 1, 0, problem.size);
  std::vector<double> x(problem.size, 0.0);
  std::vector<double> sum(problem.size, 0.0);
  Outcome outcome;
  for (std::int64_t step = 0; step < problem.steps; ++step) {
    std::vector<std::vector<float>> gradients;
    for (int worker = 0; worker < problem.workers; ++worker) {
      const bool lies = worker >= right;
      std::vector<float> gradient(problem.size);
      if (lies && is_oracle) {
        gradients.emplace_back();
        continue;
      }
      const std::vector<double> noise =
          lies ? lie
               : direction(seed, static_cast<std::uint32_t>(worker),
                           static_cast<std::uint32_t>(step), problem.size);
      for (std::size_t i = 0; i < problem.size; ++i) {
        gradient[i] =
            static_cast<float>(x[i] - kOptimum * toward[i] + noise[i]);
      }
      gradients.push_back(std::move(gradient));
    }
    const std::vector<float> parameters(x.begin(), x.end());
    const std::vector<float> mean = rule.mean_of(gradients, parameters);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] -= problem.rate * static_cast<double>(mean[i]);
    }
    const double length = length_of(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (length > kRadius) x[i] *= kRadius / length;
      sum[i] += x[i] / static_cast<double>(problem.steps);
    }
  }
  if (problem.rule.starts_with("byzantine_sgd")) {
    const auto dropped = rule.rule().shared_slots()[1].span<double>();
    outcome.has_lost_right_ones =
        std::ranges::count(dropped.first(static_cast<std::size_t>(right)),
                           0.0) < right;
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    outcome.error += std::pow(sum[i] - kOptimum * toward[i], 2) / 2;
  }
  return outcome;
}

}  // namespace

void train_in_noise(const WorkerOptions& options) {
  const Problem problem{
      .rule = options.text("rule"),
      .workers = static_cast<int>(options.integer("workers")),
      .liars = static_cast<int>(options.integer("liars")),
      .size = static_cast<std::size_t>(options.integer("size")),
      .steps = options.integer("steps"),
      .rate = std::stod(options.text("rate"))};
  const std::int64_t runs = options.integer("runs");
  double error = 0;
  std::int64_t losses = 0;
  for (std::int64_t i = 0; i < runs; ++i) {
    const Outcome outcome = run(problem, static_cast<std::uint64_t>(i) + 1);
    error += outcome.error / static_cast<double>(runs);
    if (outcome.has_lost_right_ones) ++losses;
  }
  fmt::print("{}\n",
             Json{{"error", error}, {"runs_with_losses", losses}}.dump());
}

}  // namespace weft::bench
