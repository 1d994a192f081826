// The ways to run an iterative problem, by name: what the command line and the
// benchmarks choose from.
//
//   IndependentSet<> set(ranked);
//   const RunCounts counts = run_scheduled(
//       set, {.kind = scheduler_kind("topk"), .threads = 2, .relaxation = 8});
//
// Threads: may be called from any thread; each run starts its own.
// Errors: Error(kInvalidArgument) for a name that is none, and for options that
//         the scheduler does not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/concurrent/iterative/exact_run.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/iterative/relaxed_run.h"
#include "weft/concurrent/iterative/round_run.h"
#include "weft/concurrent/queue/locked_queue.h"
#include "weft/concurrent/queue/multi_queue.h"

namespace weft::concurrent {

enum class SchedulerKind : std::uint8_t {
  kMultiQueue,
  kTopK,     // one of the first k, drawn uniformly behind one lock
  kHeap,     // the first one, behind one lock
  kExact,    // an array with an atomic head; who is blocked waits
  kRounds,   // a prefix at a time, all of it before the next
  kInOrder,  // the sequential algorithm
};

// "multiqueue", "topk", "heap", "exact", "rounds", "in-order".
const std::vector<std::string>& scheduler_names();
std::string_view to_string(SchedulerKind kind);
SchedulerKind scheduler_kind(std::string_view name);

// Where 0 stands for a default, other schedulers than the one that is named do
// not have the option.
struct SchedulerOptions {
  SchedulerKind kind = SchedulerKind::kMultiQueue;
  int threads = 1;
  int queues = 0;      // kMultiQueue; 0: four for each thread
  int relaxation = 0;  // kTopK: k; 0: four for each thread
  Task prefix = 0;     // kRounds: tasks a round; 0: a fiftieth of them
  std::uint64_t seed = 1;
};

// With defaults in the place of zeros, where the scheduler has the option.
SchedulerOptions resolved(SchedulerOptions options, Task tasks);

template <IterativeProblem Problem>
RunCounts run_scheduled(Problem& problem, const SchedulerOptions& asked) {
  const SchedulerOptions options = resolved(asked, problem.tasks());
  switch (options.kind) {
    case SchedulerKind::kMultiQueue: {
      MultiQueue<Task> queue({.queues = options.queues, .seed = options.seed});
      return run_relaxed(problem, queue, options.threads);
    }
    case SchedulerKind::kTopK: {
      UniformQueue<Task> queue({options.relaxation, options.seed});
      return run_relaxed(problem, queue, options.threads);
    }
    case SchedulerKind::kHeap: {
      LockedHeap<Task> queue;
      return run_relaxed(problem, queue, options.threads);
    }
    case SchedulerKind::kExact:
      return run_exact(problem, options.threads);
    case SchedulerKind::kRounds:
      return run_rounds(problem, options.threads, options.prefix);
    case SchedulerKind::kInOrder:
      break;
  }
  return run_in_order(problem);
}

}  // namespace weft::concurrent
