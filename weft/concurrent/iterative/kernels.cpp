#include "weft/concurrent/iterative/kernels.h"

#include "weft/concurrent/iterative/colouring.h"
#include "weft/concurrent/iterative/independent_set.h"
#include "weft/concurrent/iterative/matching.h"
#include "weft/concurrent/iterative/scheduler.h"

namespace weft::concurrent {
namespace {

template <IterativeProblem Problem>
void run(Problem& problem, const KernelOptions& options) {
  // The order of the tasks decides the result, so neither the queue nor the
  // threads can change it.
  run_scheduled(problem, {.threads = options.threads,
                          .queues = options.queues,
                          .seed = options.seed});
}

}  // namespace

std::vector<std::uint8_t> independent_set(const Graph& graph,
                                          const KernelOptions& options) {
  const Order order = random_order(graph.vertices(), options.seed);
  // The problem compares vertices by number, so their ranks become their names,
  // and the answer is carried back at the end.
  const Graph ranked = graph.renamed(order.rank_of);
  IndependentSet<> set(ranked);
  run(set, options);
  return order.by_task(set.chosen());
}

std::vector<std::uint32_t> colouring(const Graph& graph,
                                     const KernelOptions& options) {
  const Order order = random_order(graph.vertices(), options.seed);
  const Graph ranked = graph.renamed(order.rank_of);
  Colouring<> colouring(ranked, options.threads);
  run(colouring, options);
  return order.by_task(colouring.colours());
}

std::vector<std::uint8_t> matching(Vertex vertices, std::span<const Edge> edges,
                                   const KernelOptions& options) {
  const Order order =
      random_order(static_cast<Task>(edges.size()), options.seed);
  return matching(vertices, edges, order, options);
}

std::vector<std::uint8_t> matching(Vertex vertices, std::span<const Edge> edges,
                                   const Order& order,
                                   const KernelOptions& options) {
  const RankedEdges ranked(vertices, edges, order);
  Matching<> matching(ranked);
  run(matching, options);
  return order.by_task(matching.taken());
}

}  // namespace weft::concurrent
