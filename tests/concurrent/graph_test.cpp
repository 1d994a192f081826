#include "weft/concurrent/iterative/graph.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "tests/concurrent/sample_graphs.h"
#include "tests/support/errors.h"

#include "weft/concurrent/iterative/order.h"

namespace weft::concurrent::graph_test {
namespace {

std::vector<Vertex> row(const Graph& graph, Vertex v) {
  const auto neighbours = graph.neighbours(v);
  std::vector<Vertex> sorted(neighbours.begin(), neighbours.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST(Graph, BothEndsSeeAnEdge) {
  const std::vector<Edge> edges = {{0, 2}, {2, 1}, {1, 1}, {2, 0}};
  const Graph graph(4, edges);
  EXPECT_EQ(graph.vertices(), 4U);
  EXPECT_EQ(graph.arcs(), 6U);
  EXPECT_EQ(row(graph, 0), (std::vector<Vertex>{2, 2}));
  EXPECT_EQ(row(graph, 1), (std::vector<Vertex>{2}));
  EXPECT_EQ(row(graph, 2), (std::vector<Vertex>{0, 0, 1}));
  EXPECT_TRUE(row(graph, 3).empty());
}

TEST(Graph, MayBeEmpty) {
  const Graph graph(0, {});
  EXPECT_EQ(graph.vertices(), 0U);
  EXPECT_EQ(graph.renamed({}).vertices(), 0U);
}

TEST(Graph, RefusesAnEndThatIsNoVertex) {
  const std::vector<Edge> edges = {{0, 1}, {1, 2}};
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"1 - 2", "2 vertices"},
                           [&] { Graph(2, edges); });
}

TEST(Graph, RenamedIsTheSameGraph) {
  const std::vector<Edge> edges = untidy_edges(200, 900, 4);
  const Graph graph(200, edges);
  const Order order = random_order(200, 9);
  const Graph renamed = graph.renamed(order.rank_of);
  ASSERT_EQ(renamed.arcs(), graph.arcs());
  for (Vertex v = 0; v < 200; ++v) {
    std::vector<Vertex> expected = row(graph, order.at_rank[v]);
    for (Vertex& u : expected) u = order.rank_of[u];
    std::sort(expected.begin(), expected.end());
    const auto found = renamed.neighbours(v);
    EXPECT_EQ(std::vector<Vertex>(found.begin(), found.end()), expected);
  }
}

TEST(RandomEdges, AreUniformAndLeaveNoVertexAlone) {
  const auto edges = random_edges(10, 90000, 3);
  std::vector<int> counts(100, 0);
  for (const auto& [a, b] : edges) ++counts[a * 10 + b];
  for (Vertex a = 0; a < 10; ++a)
    for (Vertex b = 0; b < 10; ++b)
      EXPECT_NEAR(counts[a * 10 + b], a == b ? 0 : 1000, a == b ? 0 : 190);
}

TEST(Order, TiesGoToTheSmallerTask) {
  const std::vector<std::uint64_t> labels = {5, 2, 5, 2, 9};
  const Order order = order_by_label(labels);
  EXPECT_EQ(order.at_rank, (std::vector<Task>{1, 3, 0, 2, 4}));
  EXPECT_EQ(order.rank_of, (std::vector<Task>{2, 0, 3, 1, 4}));
  EXPECT_EQ(order.by_task(std::vector<int>{10, 11, 12, 13, 14}),
            (std::vector<int>{12, 10, 13, 11, 14}));
}

// A task keeps its label when more tasks come: their relative order stays.
TEST(Order, ALabelDependsOnSeedAndTaskAlone) {
  const Order few = random_order(50, 7);
  const Order many = random_order(100, 7);
  std::vector<Task> kept;
  for (const Task task : many.at_rank)
    if (task < 50) kept.push_back(task);
  EXPECT_EQ(kept, few.at_rank);
  EXPECT_NE(random_order(50, 8).at_rank, few.at_rank);
}

}  // namespace
}  // namespace weft::concurrent::graph_test
