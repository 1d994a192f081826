// What the framework computes, and how many tries it takes, on graphs that can
// be worked by hand.
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#include "tests/concurrent/sample_graphs.h"
#include "tests/support/errors.h"

#include "weft/concurrent/iterative/certificates.h"
#include "weft/concurrent/iterative/colouring.h"
#include "weft/concurrent/iterative/independent_set.h"
#include "weft/concurrent/iterative/luby.h"
#include "weft/concurrent/iterative/matching.h"
#include "weft/concurrent/iterative/relaxed_run.h"
#include "weft/concurrent/queue/locked_queue.h"
#include "weft/concurrent/queue/multi_queue.h"

namespace weft::concurrent::iterative_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Order order_of(const std::vector<Task>& at_rank) {
  std::vector<std::uint64_t> labels(at_rank.size());
  for (std::size_t rank = 0; rank < at_rank.size(); ++rank)
    labels[at_rank[rank]] = rank;
  return order_by_label(labels);
}

// --- Results by hand --------------------------------------------------------

Bytes set_of(Vertex vertices, const std::vector<Edge>& edges,
             const std::vector<Task>& at_rank) {
  const Order order = order_of(at_rank);
  const Graph ranked = Graph(vertices, edges).renamed(order.rank_of);
  IndependentSet<> set(ranked);
  run_in_order(set);
  return order.by_task(set.chosen());
}

TEST(IndependentSet, OfAPath) {
  EXPECT_EQ(set_of(4, path_edges(4), {0, 1, 2, 3}), (Bytes{1, 0, 1, 0}));
  EXPECT_EQ(set_of(4, path_edges(4), {1, 0, 2, 3}), (Bytes{0, 1, 0, 1}));
}

// 0, 1, 2 are a triangle, and 3 hangs on 0.
TEST(IndependentSet, OfATriangleWithATail) {
  const std::vector<Edge> edges = {{0, 1}, {1, 2}, {2, 0}, {0, 3}};
  EXPECT_EQ(set_of(4, edges, {3, 0, 1, 2}), (Bytes{0, 1, 0, 1}));
  EXPECT_EQ(set_of(4, edges, {3, 0, 2, 1}), (Bytes{0, 0, 1, 1}));
}

TEST(IndependentSet, OfAStar) {
  EXPECT_EQ(set_of(4, star_edges(3), {0, 1, 2, 3}), (Bytes{1, 0, 0, 0}));
  EXPECT_EQ(set_of(4, star_edges(3), {1, 2, 3, 0}), (Bytes{0, 1, 1, 1}));
}

Bytes matching_of(const std::vector<Edge>& edges,
                  const std::vector<Task>& at_rank) {
  const Order order = order_of(at_rank);
  const RankedEdges ranked(4, edges, order);
  Matching<> matching(ranked);
  run_in_order(matching);
  return order.by_task(matching.taken());
}

TEST(Matching, OfAPath) {
  EXPECT_EQ(matching_of(path_edges(4), {1, 0, 2}), (Bytes{0, 1, 0}));
  EXPECT_EQ(matching_of(path_edges(4), {0, 1, 2}), (Bytes{1, 0, 1}));
}

TEST(Matching, IgnoresLoopsAndTakesOneOfTwoParallelEdges) {
  EXPECT_EQ(matching_of({{1, 1}, {0, 1}, {1, 0}}, {0, 1, 2}), (Bytes{0, 1, 0}));
}

TEST(Matching, RefusesAnEndThatIsNoVertex) {
  const std::vector<Edge> edges = {{0, 4}};
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"0 - 4"},
                           [&] { RankedEdges(4, edges, order_of({0})); });
}

TEST(Colouring, OfAPathInTwoOrders) {
  const auto colours_of = [](const std::vector<Task>& at_rank) {
    const Order order = order_of(at_rank);
    const Graph ranked = Graph(4, path_edges(4)).renamed(order.rank_of);
    Colouring<> colouring(ranked, 1);
    run_in_order(colouring);
    return order.by_task(colouring.colours());
  };
  EXPECT_EQ(colours_of({0, 1, 2, 3}), (std::vector<std::uint32_t>{0, 1, 0, 1}));
  EXPECT_EQ(colours_of({0, 3, 1, 2}), (std::vector<std::uint32_t>{0, 1, 2, 0}));
}

// --- Numbers of tries --------------------------------------------------------

// Mean tries under the uniform scheduler, vertices in the given order.
template <class Problem, class... Arguments>
double mean_tries(const Graph& ranked, int k, int runs,
                  Arguments... arguments) {
  std::uint64_t sum = 0;
  for (int run = 0; run < runs; ++run) {
    Problem problem(ranked, arguments...);
    UniformQueue<Task> queue({k, static_cast<std::uint64_t>(run)});
    const RunCounts counts = run_relaxed(problem, queue, 1);
    EXPECT_EQ(counts.decided(), ranked.vertices());
    sum += counts.iterations();
  }
  return static_cast<double>(sum) / runs;
}

double set_tries(const Graph& ranked, int k, int runs) {
  return mean_tries<IndependentSet<>>(ranked, k, runs);
}
double generic_tries(const Graph& ranked, int k, int runs) {
  return mean_tries<Colouring<>>(ranked, k, runs, 1);
}

TEST(Tries, NoneAreWastedOnAGraphWithoutEdges) {
  const Graph graph(50, {});
  EXPECT_EQ(set_tries(graph, 8, 5), 50);
  EXPECT_EQ(generic_tries(graph, 8, 5), 50);
}

TEST(Tries, NoneAreWastedByAnExactScheduler) {
  const Graph graph(300, random_edges(300, 2000, 1));
  const Graph ranked = graph.renamed(random_order(300, 1).rank_of);
  EXPECT_EQ(set_tries(ranked, 1, 1), 300);
  EXPECT_EQ(generic_tries(ranked, 1, 1), 300);
}

// While all are live a try succeeds with probability 1 / k, for a set once.
TEST(Tries, OfAClique) {
  const auto clique = [](Vertex n) { return Graph(n, clique_edges(n)); };
  EXPECT_NEAR(set_tries(clique(2), 2, 4000), 3.0, 0.15);
  EXPECT_NEAR(set_tries(clique(6), 3, 4000), 6 + 3 - 1, 0.25);
  EXPECT_NEAR(set_tries(clique(30), 8, 2000), 30 + 8 - 1, 1.0);
  // n + (n - k)(k - 1) + k (k - 1) / 2
  EXPECT_NEAR(generic_tries(clique(6), 3, 4000), 15, 0.35);
  EXPECT_NEAR(generic_tries(clique(30), 8, 1000), 30 + 22 * 7 + 28, 3.0);
}

TEST(Tries, OfAPath) {
  const Graph path(4, path_edges(4));
  EXPECT_NEAR(set_tries(path, 2, 6000), 5.5, 0.12);
  EXPECT_NEAR(generic_tries(path, 2, 6000), 7, 0.15);
}

// Theorem 2: the waste of a set depends on k and not on the graph; theorem 1:
// that of the generic framework grows with m / n.
TEST(Tries, WasteOfASetDoesNotGrowWithTheGraph) {
  const auto waste = [](Vertex n, std::size_t m, bool is_set) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Graph graph(n, random_edges(n, m, seed));
      const Graph ranked = graph.renamed(random_order(n, seed).rank_of);
      sum +=
          (is_set ? set_tries(ranked, 16, 2) : generic_tries(ranked, 16, 2)) -
          n;
    }
    return sum / 8;
  };
  EXPECT_LT(waste(1000, 5000, true), 2 * 16);
  EXPECT_LT(waste(10000, 50000, true), 2 * 16);
  EXPECT_LT(waste(2000, 100000, true), 2 * 16);
  EXPECT_GT(waste(2000, 100000, false), 4 * waste(2000, 10000, false));
}

TEST(Tries, WasteOfAMatchingDoesNotGrowWithTheGraph) {
  for (const std::size_t m : {2000U, 20000U}) {
    double waste = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const auto edges = random_edges(2000, m, seed);
      const RankedEdges ranked(2000, edges,
                               random_order(static_cast<Task>(m), seed));
      Matching<> matching(ranked);
      UniformQueue<Task> queue({16, seed});
      waste += static_cast<double>(run_relaxed(matching, queue, 1).blocked) / 8;
    }
    EXPECT_LT(waste, 3 * 16) << m;
  }
}

// --- Other references --------------------------------------------------------

TEST(Certificates, RejectAnOrderWithoutPriority) {
  const Graph graph(500, random_edges(500, 3000, 2));
  const Order order = random_order(500, 2);
  const Graph ranked = graph.renamed(order.rank_of);
  const Order other = random_order(500, 3);
  IndependentSet<> greedy(ranked);
  run_in_order(greedy);
  EXPECT_TRUE(is_greedy_independent_set(ranked, greedy.chosen()));

  // The greedy set of another order is maximal, but not ours.
  const Graph shuffled = ranked.renamed(other.rank_of);
  IndependentSet<> random(shuffled);
  run_in_order(random);
  const Bytes chosen = other.by_task(random.chosen());
  EXPECT_TRUE(is_maximal_independent_set(ranked, chosen));
  EXPECT_FALSE(is_greedy_independent_set(ranked, chosen));
}

TEST(Certificates, RejectWhatIsNearlyRight) {
  const Graph path(3, path_edges(3));
  EXPECT_TRUE(is_greedy_independent_set(path, Bytes{1, 0, 1}));
  EXPECT_FALSE(is_greedy_independent_set(path, Bytes{1, 0, 0}));
  EXPECT_FALSE(is_greedy_independent_set(path, Bytes{0, 1, 0}));
  EXPECT_FALSE(is_maximal_independent_set(path, Bytes{1, 0, 0}));
  EXPECT_FALSE(is_maximal_independent_set(path, Bytes{1, 1, 0}));
  EXPECT_TRUE(is_maximal_independent_set(path, Bytes{0, 1, 0}));
  using Colours = std::vector<std::uint32_t>;
  EXPECT_TRUE(is_greedy_colouring(path, Colours{0, 1, 0}));
  EXPECT_FALSE(is_greedy_colouring(path, Colours{0, 1, 2}));
  EXPECT_FALSE(is_greedy_colouring(path, Colours{0, 0, 1}));
  const std::vector<Edge> edges = path_edges(3);
  const RankedEdges ranked(3, edges, order_of({0, 1}));
  EXPECT_TRUE(is_greedy_matching(ranked, Bytes{1, 0}));
  EXPECT_FALSE(is_greedy_matching(ranked, Bytes{0, 1}));
  EXPECT_FALSE(is_greedy_matching(ranked, Bytes{1, 1}));
}

TEST(Luby, FindsAMaximalSetInFewRounds) {
  const Graph graph(5000, random_edges(5000, 20000, 6));
  const LubySet set = luby_independent_set(graph, 6);
  EXPECT_TRUE(is_maximal_independent_set(graph, set.chosen));
  EXPECT_LE(set.rounds, 4 * 13);
  EXPECT_EQ(luby_independent_set(Graph(0, {}), 1).rounds, 0);
}

}  // namespace
}  // namespace weft::concurrent::iterative_test
