// weft-concurrent-bench solve SCHEDULER --threads T (--vertices N --edges M |
// --edge-list FILE): the greedy independent set of a graph, again and again.
// Work is vertices; making and ranking the graph is not timed, filling the
// queue is. `check` gives numbers that depend on every vertex.
//
// SCHEDULER: one of iterative/scheduler.h.
#include "bench/concurrent/command.h"
#include "bench/concurrent/sample_graph.h"
#include "bench/worker/serve.h"

#include "weft/concurrent/iterative/independent_set.h"
#include "weft/concurrent/iterative/scheduler.h"

namespace weft {
namespace {

using namespace concurrent;
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
  const SchedulerKind kind = scheduler_kind(options.model);
  const SchedulerOptions scheduler = {
      .kind = kind,
      // What is sequential races against any number of threads.
      .threads = kind == SchedulerKind::kInOrder
                     ? 1
                     : static_cast<int>(options.integer("threads"))};
  bench::serve({{"check",
                 [&]() -> bench::Json {
                   IndependentSet<> set(ranked);
                   run_scheduled(set, scheduler);
                   return {{"values", values_of(set.chosen())}};
                 }},
                {"run",
                 [&] {
                   IndependentSet<> set(ranked);
                   return bench::timed([&]() -> std::int64_t {
                     run_scheduled(set, scheduler);
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
