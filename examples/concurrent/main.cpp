// weft-concurrent [THREADS]: shortest paths from one vertex of a random graph,
// by several threads that share three structures of weft/concurrent.
//
// - A MultiQueue says which vertex comes next. It returns one of the nearest,
//   not always the nearest, so a vertex may be visited again once a shorter way
//   to it is found: that is what not waiting for each other costs.
// - A MultiCounter counts the edges that were looked at. Threads read it while
//   they work, and are a little wrong.
// - A TransactionalMap holds how many vertices are how far away. A vertex that
//   comes nearer leaves one entry and enters another in one transaction, so
//   whoever adds up all entries never misses it.
//
// It needs no more of Weft than find_package(weft-concurrent) gives.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fmt/core.h>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "weft/concurrent/counter/multi_counter.h"
#include "weft/concurrent/iterative/graph.h"
#include "weft/concurrent/queue/multi_queue.h"
#include "weft/concurrent/stm/containers.h"
#include "weft/concurrent/stm/session.h"
#include "weft/concurrent/threads.h"

using namespace weft::concurrent;

namespace {

using Distance = std::uint64_t;
constexpr Distance kFar = ~Distance{0};
constexpr Distance kRing = 50;  // of the map: distances 0 … 49, 50 … 99, …

// The same from both ends.
Distance length(Vertex a, Vertex b) { return 1 + (a ^ b) * 2654435761U % 100; }

// The sequential algorithm, to compare with.
std::vector<Distance> dijkstra(const Graph& graph) {
  using Entry = std::pair<Distance, Vertex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<Distance> distances(graph.vertices(), kFar);
  distances[0] = 0;
  for (queue.push({0, 0}); !queue.empty();) {
    const auto [distance, v] = queue.top();
    queue.pop();
    if (distance > distances[v]) continue;
    for (const Vertex u : graph.neighbours(v)) {
      const Distance longer = distance + length(v, u);
      if (longer >= distances[u]) continue;
      distances[u] = longer;
      queue.push({longer, u});
    }
  }
  return distances;
}

class ShortestPaths {
 public:
  ShortestPaths(const Graph& graph, int threads)
      : distances(graph.vertices()),
        edges_seen(static_cast<std::uint32_t>(4 * threads)),
        rings(64),
        graph_(graph),
        queue_({.queues = 4 * threads}) {
    for (auto& distance : distances) distance = kFar;
    distances[0] = 0;
    queue_.handle(0).push({.key = 0, .value = 0});
  }

  // Every thread calls it. An empty queue does not say that all is done, as
  // another thread may be about to push: the number of vertices under way does.
  void work(int thread) {
    auto queue = queue_.handle(thread);
    FastRandom random(1, static_cast<std::uint64_t>(thread));
    Session<> session(stm);
    while (under_way_ != 0) {
      const auto next = queue.pop();
      if (!next) continue;
      // Otherwise a shorter way has been found in the meantime.
      if (next->key == distances[next->value])
        visit(session, queue, random, *next);
      --under_way_;
    }
  }

  std::vector<std::atomic<Distance>> distances;
  std::atomic<std::uint64_t> visits = 0;
  MultiCounter<> edges_seen;
  Stm<> stm;
  TransactionalMap<Distance, long> rings;

 private:
  using Queue = MultiQueue<Distance, Vertex>;

  void visit(Session<>& session, Queue::Handle& queue, FastRandom& random,
             const Queue::Entry& entry) {
    ++visits;
    for (const Vertex u : graph_.neighbours(entry.value)) {
      edges_seen.increment(random);
      const Distance longer = entry.key + length(entry.value, u);
      Distance known = distances[u];
      while (longer < known &&
             !distances[u].compare_exchange_weak(known, longer)) {
      }
      if (longer >= known) continue;
      move(session, known, longer);
      ++under_way_;
      queue.push({.key = longer, .value = u});
    }
  }

  // A ring may be left before it is entered: another thread that shortens the
  // distance again can be here before the thread that shortened it first. The
  // count is then -1 for a while, and the sum of all rings is right throughout.
  void move(Session<>& session, Distance from, Distance to) {
    session.run([&](Transaction<>& t) {
      if (from != kFar) add(t, from / kRing, -1);
      add(t, to / kRing, 1);
    });
  }

  void add(Transaction<>& t, Distance ring, long change) {
    rings.set(t, ring, rings.find(t, ring).value_or(0) + change);
  }

  const Graph& graph_;
  Queue queue_;
  std::atomic<std::uint64_t> under_way_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::stoi(argv[1])) : 2;
  constexpr Vertex kVertices = 20000;
  const Graph graph(kVertices,
                    random_edges(kVertices, std::size_t{5} * kVertices, 1));

  ShortestPaths paths(graph, threads);
  run_threads(threads, [&](int thread) { paths.work(thread); });

  const std::vector<Distance> expected = dijkstra(graph);
  const bool is_right =
      std::equal(expected.begin(), expected.end(), paths.distances.begin());
  const auto reached =
      kVertices - std::count(expected.begin(), expected.end(), kFar);
  FastRandom random(2, 0);
  fmt::print("{} vertices, {} reached by {} threads: {}\n", kVertices, reached,
             threads, is_right ? "as by Dijkstra" : "WRONG");
  fmt::print("{} visits, {} of them again\n", paths.visits.load(),
             static_cast<long>(paths.visits) - reached);
  fmt::print("{} edges seen; a read says {}\n", paths.edges_seen.exact(),
             paths.edges_seen.read(random));

  Session<> session(paths.stm);
  long sum = 1;  // the first vertex
  for (Distance ring = 0; ring < 8; ++ring) {
    const long count = session.read([&](Transaction<>& t) {
      return paths.rings.find(t, ring).value_or(0);
    });
    sum += count;
    if (count != 0)
      fmt::print("{:>4} … {:<4} {:>6}\n", ring * kRing,
                 ring * kRing + kRing - 1, count);
  }
  fmt::print("{} in all\n", sum);
  return is_right && sum == reached ? EXIT_SUCCESS : EXIT_FAILURE;
}
