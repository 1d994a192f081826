// Lock-free SGD on a machine that is not there: n threads whose atomic steps an
// adversary schedules, one at a time.
//
//   const auto adversary = make_adversary("freeze", {{"delay", 290}});
//   const ScheduledRun run = run_scheduled_sgd(
//       Quadratic<double>(1), *adversary,
//       {.threads = 2, .iterations = 291, .rate = 0.1}, {1.0}, {0.0});
//   run.x[0];   // (0.9^290 - 0.1)
//
// A step is: fetching the number of an iteration, reading a block of entries,
// computing, adding to a block of entries; all atomic, in the model of
// Alistarh, De Sa, Konstantinov, PODC 2018. A larger block makes runs of many
// dimensions short, and the adversary coarser.
//
// Iterations are ordered by their first write; x_t is the start and the first t
// whole updates in this order, which need not ever be in memory. With epochs,
// it is that of the newest.
//
// Threads: the caller's alone. Cost: some 20 ns per step, and what the
// adversary thinks. Deterministic: a run is a function of its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/concurrent/sgd/adversary.h"
#include "weft/concurrent/sgd/problem.h"
#include "weft/concurrent/sgd/trace.h"

namespace weft::concurrent {

struct ScheduleOptions {
  int threads = 2;
  std::uint64_t first = 0;       // the number of the first iteration
  std::uint64_t iterations = 0;  // of an epoch
  double rate = 0.1;
  // FullSGD (full_sgd.h): each epoch has a copy of its own, made by the first
  // thread that leaves the one before, and half of its rate. A thread that is
  // delayed in an old epoch adds to a copy that is abandoned.
  int epochs = 1;
  std::size_t block = 1;  // entries of a read or an addition
  double within = 0;      // eps of the success region |x - x*|^2 <= eps
};

struct ScheduledRun {
  std::vector<double> x;
  std::uint64_t steps = 0;
  std::vector<IterationTrace> trace;  // in the order of first writes
  // The first t with x_t in the success region; nothing if it was never there.
  std::optional<std::uint64_t> reached;
};

// Throws Error(kInvalidArgument) for options that cannot be, and for vectors
// that do not have the problem's dimensions; Error(kNumeric) where a gradient
// is no number.
ScheduledRun run_scheduled_sgd(const SgdProblem<double>& problem,
                               Adversary& adversary,
                               const ScheduleOptions& options,
                               std::vector<double> start,
                               std::span<const double> optimum);

}  // namespace weft::concurrent
