// Lock-free SGD under an adversary, measured against what the theory says: what
// `weft sgd simulate` does.
//
// Threads: the caller's alone. Deterministic.
// Errors:  those of scheduled_sgd.h, linear_model.h and bounds.h.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/concurrent/sgd/bounds.h"
#include "weft/concurrent/sgd/linear_model.h"
#include "weft/concurrent/sgd/scheduled_sgd.h"

namespace weft::concurrent {

struct AdversarialRun {
  ScheduledRun run;
  DelayStatistics delays;
  // |x - x*|.
  double first_distance = 0;
  double distance = 0;
  double first_loss = 0;
  double loss = 0;
  // Iterations over those that a sequential run needs for the same way; where
  // there is no noise, and one rate.
  std::optional<double> slowdown;
  // What the theory says of the success region, if there is one: of a
  // sequential run, and with the delays that were measured.
  std::optional<SgdBound> sequential;
  std::optional<SgdBound> lock_free;
};

struct QuadraticOptions {
  std::uint32_t dimensions = 1;
  double noise = 0;  // as Quadratic
  std::uint64_t seed = 1;
  double failure = 0.1;  // of the bounds
};

// F = |x|^2 / 2, from an x_0 of length 1.
AdversarialRun run_quadratic(Adversary& adversary,
                             const ScheduleOptions& options,
                             const QuadraticOptions& quadratic);

// A linear model from zeros. Its optimum is what 20 epochs of FullSGD on one
// thread, of 10 passes each, come to. The bounds, for a probability of
// `failure`, are of smooth losses with l2, by which F is strongly convex; what
// gradients are bounded by is taken from the rows.
AdversarialRun run_rows(const SparseRows& rows, Adversary& adversary,
                        const ScheduleOptions& options,
                        const LinearModelOptions& model, double failure = 0.1);

}  // namespace weft::concurrent
