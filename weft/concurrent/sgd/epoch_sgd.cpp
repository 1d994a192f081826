#include "weft/concurrent/sgd/epoch_sgd.h"

#include <cmath>

#include "weft/concurrent/sgd/full_sgd.h"

namespace weft::concurrent {
namespace {

double seconds_since(std::uint64_t began) {
  return 1e-9 * static_cast<double>(RealMemory::nanoseconds() - began);
}

[[noreturn]] void refuse_sgd(std::string message, const char* hint) {
  throw Error(ErrorCode::kInvalidArgument, "sgd", "{}", message).hint(hint);
}

}  // namespace

void check(const SgdOptions& options) {
  if (options.threads < 1)
    refuse_sgd(fmt::format("{} threads", options.threads),
               "there must be at least one");
  if (!(options.rate > 0) || std::isinf(options.rate))
    refuse_sgd(fmt::format("a rate of {}", options.rate),
               "it must be above 0, and finite");
  if (options.kind == UpdateKind::kSequential && options.threads > 1)
    refuse_sgd("'sequential' is one thread's",
               "'atomic' loses nothing of what several add");
  if (options.kind == UpdateKind::kRoundRobin && options.batch > 1)
    refuse_sgd(fmt::format("'round-robin' with {} iterations at a time",
                           options.batch),
               "one at a time: others would wait for all of them");
}

template <class Number>
SgdRun run_epoch_sgd(const SgdProblem<Number>& problem, std::span<Number> x,
                     const SgdOptions& options) {
  EpochSgd<Number> epoch(problem, x, options);
  const std::uint64_t began = RealMemory::nanoseconds();
  // One thread is this one.
  if (options.threads == 1) {
    epoch.work(0);
  } else {
    run_threads(options.threads, [&](int thread) { epoch.work(thread); });
  }
  SgdRun run = epoch.result();
  run.seconds = seconds_since(began);
  return run;
}

template SgdRun run_epoch_sgd(const SgdProblem<float>&, std::span<float>,
                              const SgdOptions&);
template SgdRun run_epoch_sgd(const SgdProblem<double>&, std::span<double>,
                              const SgdOptions&);

template <class Number>
SgdRun run_full_sgd(const SgdProblem<Number>& problem, std::span<Number> x,
                    const FullSgdOptions& options) {
  FullSgd<Number> full(problem, x, options);
  const std::uint64_t began = RealMemory::nanoseconds();
  run_threads(options.epoch.threads, [&](int thread) { full.work(thread); });
  SgdRun run = full.result(x);
  run.seconds = seconds_since(began);
  return run;
}

template SgdRun run_full_sgd(const SgdProblem<float>&, std::span<float>,
                             const FullSgdOptions&);
template SgdRun run_full_sgd(const SgdProblem<double>&, std::span<double>,
                             const FullSgdOptions&);

}  // namespace weft::concurrent
