#include "weft/concurrent/iterative/coarsen.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/errors.h"

namespace weft::concurrent::coarsen_test {
namespace {

// A square with a diagonal; 1 - 2 is the heaviest edge, then 3 - 0.
//   0 -1- 1
//   |  \  |    0-3: 4, 1-2: 5, 2-3: 2, 0-2: 3
//   3 -2- 2
WeightedGraph square() {
  return {
      {1, 2, 3, 4}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}}, {1, 5, 2, 4, 3}};
}

TEST(Coarsen, JoinsTheEndsOfHeavyEdges) {
  const Coarsening coarse = coarsen(square(), {});
  EXPECT_EQ(coarse.coarse_of, (std::vector<Vertex>{0, 1, 1, 0}));
  EXPECT_EQ(coarse.graph.vertex_weight, (std::vector<double>{5, 5}));
  ASSERT_EQ(coarse.graph.edges.size(), 1U);
  EXPECT_EQ(coarse.graph.edges[0].a, 0U);
  EXPECT_EQ(coarse.graph.edges[0].b, 1U);
  EXPECT_EQ(coarse.graph.edge_weight, (std::vector<double>{1 + 2 + 3}));
  EXPECT_EQ(coarse.projected(std::vector<int>{7, 8}),
            (std::vector<int>{7, 8, 8, 7}));
}

TEST(Coarsen, KeepsWeightAndCutOverManyLevels) {
  const Vertex vertices = 2000;
  WeightedGraph graph{
      std::vector<double>(vertices, 1), random_edges(vertices, 8000, 1), {}};
  for (std::size_t i = 0; i < graph.edges.size(); ++i)
    graph.edge_weight.push_back(static_cast<double>(1 + i % 7));
  std::vector<Vertex> coarse_of(vertices);
  std::iota(coarse_of.begin(), coarse_of.end(), 0);

  WeightedGraph level = graph;
  for (int depth = 0; depth < 5; ++depth) {
    const Coarsening coarse = coarsen(level, {.seed = 2, .threads = 2});
    EXPECT_LT(coarse.graph.vertices(), 0.7 * level.vertices());
    EXPECT_GE(2 * coarse.graph.vertices(), level.vertices());
    for (Vertex& v : coarse_of) v = coarse.coarse_of[v];
    level = coarse.graph;
    // A cut of the coarse graph cuts the same weight of the fine one.
    const auto is_left = [&](Vertex v) { return v < level.vertices() / 2; };
    double cut = 0;
    for (std::size_t i = 0; i < level.edges.size(); ++i)
      if (is_left(level.edges[i].a) != is_left(level.edges[i].b))
        cut += level.edge_weight[i];
    double fine = 0;
    for (std::size_t i = 0; i < graph.edges.size(); ++i)
      if (is_left(coarse_of[graph.edges[i].a]) !=
          is_left(coarse_of[graph.edges[i].b]))
        fine += graph.edge_weight[i];
    EXPECT_EQ(cut, fine);
    EXPECT_EQ(std::accumulate(level.vertex_weight.begin(),
                              level.vertex_weight.end(), 0.0),
              vertices);
  }
}

TEST(Coarsen, DoesNotDependOnThreads) {
  WeightedGraph graph{std::vector<double>(500, 1), random_edges(500, 3000, 4),
                      std::vector<double>(3000, 1)};
  const Coarsening one = coarsen(graph, {.seed = 2});
  const Coarsening many = coarsen(graph, {.seed = 2, .threads = 8});
  EXPECT_EQ(one.coarse_of, many.coarse_of);
}

TEST(Coarsen, TakesAGraphWithoutVertices) {
  EXPECT_EQ(coarsen({}, {}).graph.vertices(), 0U);
}

TEST(Coarsen, RefusesWhatIsNoGraph) {
  WeightedGraph graph = square();
  graph.edge_weight.pop_back();
  weft::test::expect_error(ErrorCode::kInvalidArgument,
                           {"5 edges and 4 weights"},
                           [&] { coarsen(graph, {}); });
  graph = square();
  graph.edge_weight[2] = std::numeric_limits<double>::quiet_NaN();
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"edge 2"},
                           [&] { coarsen(graph, {}); });
  graph = square();
  graph.edges[1].b = 4;
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"1 - 4"},
                           [&] { coarsen(graph, {}); });
}

}  // namespace
}  // namespace weft::concurrent::coarsen_test
