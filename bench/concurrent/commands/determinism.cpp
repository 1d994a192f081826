// weft-concurrent-bench determinism --vertices N --edges M: the independent
// set, the matching and the colouring of a random graph by 1, 2, 8 and 64
// threads and by several numbers of queues, compared bit by bit with what the
// greedy algorithm gives in order, which a certificate checks.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "bench/concurrent/command.h"
#include "bench/concurrent/sample_graph.h"

#include "weft/concurrent/iterative/certificates.h"
#include "weft/concurrent/iterative/colouring.h"
#include "weft/concurrent/iterative/independent_set.h"
#include "weft/concurrent/iterative/matching.h"
#include "weft/concurrent/iterative/relaxed_run.h"
#include "weft/concurrent/queue/multi_queue.h"

namespace weft {
namespace {

using namespace concurrent;

constexpr int kThreads[] = {1, 2, 8, 64};
constexpr int kQueues[] = {1, 3, 16, 256};

// How many of the runs gave something else than `expected`.
template <class Make, class Result, class Expected>
int different_runs(Make&& make, Result&& result, const Expected& expected) {
  int different = 0;
  for (const int threads : kThreads)
    for (const int queues : kQueues) {
      auto problem = make(threads);
      MultiQueue<Task> queue({.queues = queues});
      run_relaxed(problem, queue, threads);
      if (result(problem) != expected) ++different;
    }
  return different;
}

void determinism(const bench::WorkerOptions& options) {
  const bench::SampleGraph sample = bench::sample_graph(options, 1);
  const Graph ranked = Graph(sample.vertices, sample.edges)
                           .renamed(random_order(sample.vertices, 1).rank_of);
  const RankedEdges edges(
      sample.vertices, sample.edges,
      random_order(static_cast<Task>(sample.edges.size()), 1));

  IndependentSet<> set(ranked);
  Colouring<> colouring(ranked, 1);
  Matching<> matching(edges);
  run_in_order(set);
  run_in_order(colouring);
  run_in_order(matching);
  WEFT_CHECK(is_greedy_independent_set(ranked, set.chosen()));
  WEFT_CHECK(is_greedy_colouring(ranked, colouring.colours()));
  WEFT_CHECK(is_greedy_matching(edges, matching.taken()));

  const nlohmann::json different = {
      {"set", different_runs([&](int) { return IndependentSet<>(ranked); },
                             [](auto& p) { return p.chosen(); }, set.chosen())},
      {"matching",
       different_runs([&](int) { return Matching<>(edges); },
                      [](auto& p) { return p.taken(); }, matching.taken())},
      {"colouring",
       different_runs([&](int threads) { return Colouring<>(ranked, threads); },
                      [](auto& p) { return p.colours(); },
                      colouring.colours())}};
  fmt::print("{}\n",
             nlohmann::json{{"runs", std::size(kThreads) * std::size(kQueues)},
                            {"different", different}}
                 .dump());
}

}  // namespace

void register_concurrent_determinism(ConcurrentCommandRegistry& registry) {
  registry.add({"determinism", determinism});
}

}  // namespace weft
