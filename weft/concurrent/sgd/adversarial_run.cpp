#include "weft/concurrent/sgd/adversarial_run.h"

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
    result.sequential = sequential_bound(constants, quadratic.failure);
    result.lock_free =
        lock_free_bound(constants, quadratic.failure,
                        static_cast<double>(result.delays.tau_max),
                        options.threads, dimensions);
  }
  return result;
}

AdversarialRun run_rows(const SparseRows& rows, Adversary& adversary,
                        const ScheduleOptions& options,
                        const LinearModelOptions& model_options) {
  constexpr std::uint32_t kPasses = 10;
  constexpr int kEpochs = 20;
  LinearModelOptions own = model_options;
  own.passes = kPasses;
  const LinearModel<double> model(rows, own);
  std::vector<double> optimum(rows.width);
  run_full_sgd<double>(model, optimum,
                       {.epoch = {.kind = UpdateKind::kSequential,
                                  .iterations = kPasses * rows.rows(),
                                  .rate = options.rate},
                        .epochs = kEpochs});
  return run_measured(model, adversary, options,
                      std::vector<double>(rows.width), optimum);
}

}  // namespace weft::concurrent
