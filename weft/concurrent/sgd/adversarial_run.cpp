#include "weft/concurrent/sgd/adversarial_run.h"

#include <algorithm>
#include <cmath>

#include "weft/concurrent/sgd/full_sgd.h"
#include "weft/concurrent/sgd/quadratic.h"

namespace weft::concurrent {
namespace {

double distance_of(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t j = 0; j < a.size(); ++j)
    squares += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(squares);
}

AdversarialRun run_measured(const SgdProblem<double>& problem,
                            Adversary& adversary,
                            const ScheduleOptions& options,
                            const std::vector<double>& start,
                            const std::vector<double>& optimum) {
  AdversarialRun result;
  result.first_distance = distance_of(start, optimum);
  result.first_loss = problem.loss(start);
  result.run = run_scheduled_sgd(problem, adversary, options, start, optimum);
  result.delays = delays_of(result.run.trace, options.threads);
  result.distance = distance_of(result.run.x, optimum);
  result.loss = problem.loss(result.run.x);
  return result;
}

void add_bounds(AdversarialRun& result, const SgdConstants& constants,
                const ScheduleOptions& options, double failure,
                double dimensions) {
  result.sequential = sequential_bound(constants, failure);
  result.lock_free = lock_free_bound(constants, failure,
                                     static_cast<double>(result.delays.tau_max),
                                     options.threads, dimensions);
}

// The most that a loss curves by y; nothing for one that has a kink.
std::optional<double> curvature_of(LinearLoss loss) {
  switch (loss) {
    case LinearLoss::kLogistic:
      return 0.25;
    case LinearLoss::kSquared:
      return 1;
    case LinearLoss::kHinge:
      break;
  }
  return std::nullopt;
}

// How Lipschitz the gradient of each row is: what its loss curves, and the
// largest share of l2 of its entries.
std::vector<double> lipschitz_of(const SparseRows& rows, double l2,
                                 double curvature) {
  std::vector<double> counts(rows.width);
  for (const std::uint32_t column : rows.columns) ++counts[column];
  std::vector<double> result;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    double squares = 0;
    double share = 0;
    for (const float value : rows.values_of(row)) {
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    for (const std::uint32_t column : rows.columns_of(row)) {
      share =
          std::max(share, static_cast<double>(rows.rows()) / counts[column]);
    }
    result.push_back(curvature * squares + l2 * share);
  }
  return result;
}

double mean_square(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return squares / static_cast<double>(values.size());
}

// The mean of the squared norms of the rows' gradients at x.
double gradient_square(const SparseRows& rows, const LinearModel<double>& model,
                       std::span<const double> x) {
  double squares = 0;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    std::vector<double> view;
    for (const std::uint32_t column : rows.columns_of(row)) {
      view.push_back(x[column]);
    }
    std::vector<double> gradient(view.size());
    model.gradient(row, view, gradient);
    for (const double each : gradient) squares += each * each;
  }
  return squares / static_cast<double>(rows.rows());
}

}  // namespace

AdversarialRun run_quadratic(Adversary& adversary,
                             const ScheduleOptions& options,
                             const QuadraticOptions& quadratic) {
  const Quadratic<double> problem(quadratic.dimensions, quadratic.noise,
                                  quadratic.seed);
  const double dimensions = quadratic.dimensions;
  const std::vector<double> start(quadratic.dimensions,
                                  1 / std::sqrt(dimensions));
  const std::vector<double> optimum(quadratic.dimensions);
  AdversarialRun result =
      run_measured(problem, adversary, options, start, optimum);
  const double way = std::log(result.first_distance / result.distance);
  if (quadratic.noise == 0 && options.epochs == 1 && options.rate < 1)
    result.slowdown = -static_cast<double>(options.iterations) *
                      std::log1p(-options.rate) / way;
  if (options.within > 0) {
    const SgdConstants constants{
        .gradient =
            std::sqrt(1 + dimensions * quadratic.noise * quadratic.noise),
        .within = options.within};
    add_bounds(result, constants, options, quadratic.failure, dimensions);
  }
  return result;
}

AdversarialRun run_rows(const SparseRows& rows, Adversary& adversary,
                        const ScheduleOptions& options,
                        const LinearModelOptions& model_options,
                        double failure) {
  constexpr std::uint32_t kPasses = 10;
  constexpr int kEpochs = 20;
  LinearModelOptions own = model_options;
  own.passes = kPasses;
  const LinearModel<double> model(rows, own);
  std::vector<double> lipschitz;
  double rate = options.rate;
  if (const auto curvature = curvature_of(own.loss)) {
    lipschitz = lipschitz_of(rows, own.l2, *curvature);
    // The optimum is the same whatever the rate of the run is.
    rate = 1 / std::ranges::max(lipschitz);
  }
  std::vector<double> optimum(rows.width);
  run_full_sgd<double>(model, optimum,
                       {.epoch = {.kind = UpdateKind::kSequential,
                                  .iterations = kPasses * rows.rows(),
                                  .rate = rate},
                        .epochs = kEpochs});
  AdversarialRun result = run_measured(
      model, adversary, options, std::vector<double>(rows.width), optimum);
  // Without l2 it may not be strongly convex.
  if (options.within > 0 && own.l2 > 0 && !lipschitz.empty()) {
    const double distance_2 = result.first_distance * result.first_distance;
    const double lipschitz_2 = mean_square(lipschitz);
    // Within the ball around x* on whose edge the start is, |g(x)|^2 is at most
    // 2 |g(x*)|^2 + 2 H^2 |x - x*|^2 for each row.
    add_bounds(
        result,
        {.convexity = own.l2,
         .lipschitz = std::sqrt(lipschitz_2),
         .gradient = std::sqrt(2 * gradient_square(rows, model, optimum) +
                               2 * lipschitz_2 * distance_2),
         .within = options.within,
         .distance_2 = distance_2},
        options, failure, rows.width);
  }
  return result;
}

}  // namespace weft::concurrent
