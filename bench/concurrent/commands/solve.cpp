// weft-concurrent-bench solve SCHEDULER --threads T (--vertices N --edges M |
// --edge-list FILE): the greedy independent set of a graph, again and again.
// Work is vertices; making and ranking the graph is not timed, filling the
// queue is. `check` gives numbers that depend on every vertex.
//
// SCHEDULER: multiqueue, heap (behind a lock), exact (an array with an atomic
// head), rounds, or in-order, which is the sequential algorithm.
#include <functional>

#include "bench/concurrent/command.h"
#include "bench/concurrent/sample_graph.h"
#include "bench/worker/serve.h"

#include "weft/concurrent/iterative/exact_run.h"
#include "weft/concurrent/iterative/independent_set.h"
#include "weft/concurrent/iterative/relaxed_run.h"
#include "weft/concurrent/iterative/round_run.h"
#include "weft/concurrent/queue/locked_queue.h"
#include "weft/concurrent/queue/multi_queue.h"

namespace weft {
namespace {

using namespace concurrent;
using Solve = std::function<void(IndependentSet<>&)>;

// A fiftieth of the tasks a round: near the fastest of the prefixes that the
// paper tries.
constexpr Task kRounds = 50;

Solve solver(const std::string& scheduler, int threads) {
  if (scheduler == "multiqueue")
    return [=](IndependentSet<>& set) {
      MultiQueue<Task> queue({.queues = 4 * threads});
      run_relaxed(set, queue, threads);
    };
  if (scheduler == "heap")
    return [=](IndependentSet<>& set) {
      LockedHeap<Task> queue;
      run_relaxed(set, queue, threads);
    };
  if (scheduler == "exact")
    return [=](IndependentSet<>& set) { run_exact(set, threads); };
  if (scheduler == "rounds")
    return [=](IndependentSet<>& set) {
      run_rounds(set, threads, set.tasks() / kRounds + 1);
    };
  if (scheduler == "in-order")
    return [](IndependentSet<>& set) { run_in_order(set); };
  throw Error(ErrorCode::kInvalidArgument, "solve", "no scheduler '{}'",
              scheduler);
}

// How many are chosen, and sums that tell which.
std::vector<double> values_of(const std::vector<std::uint8_t>& chosen) {
  std::vector<double> values(3, 0);
  for (std::size_t v = 0; v < chosen.size(); ++v) {
    if (chosen[v] == 0) continue;
    values[0] += 1;
    values[1] += static_cast<double>(v % 1009);
    values[2] += static_cast<double>(v % 8191);
  }
  return values;
}

void solve(const bench::WorkerOptions& options) {
  const bench::SampleGraph sample = bench::sample_graph(options, 1);
  const Graph ranked = Graph(sample.vertices, sample.edges)
                           .renamed(random_order(sample.vertices, 1).rank_of);
  const Solve run =
      solver(options.model, static_cast<int>(options.integer("threads")));
  bench::serve({{"check",
                 [&]() -> bench::Json {
                   IndependentSet<> set(ranked);
                   run(set);
                   return {{"values", values_of(set.chosen())}};
                 }},
                {"run",
                 [&] {
                   IndependentSet<> set(ranked);
                   return bench::timed([&]() -> std::int64_t {
                     run(set);
                     return set.tasks();
                   });
                 }}},
               0);
}

}  // namespace

void register_concurrent_solve(ConcurrentCommandRegistry& registry) {
  registry.add({"solve", solve});
}

}  // namespace weft
