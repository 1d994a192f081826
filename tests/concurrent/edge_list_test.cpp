#include "weft/concurrent/iterative/edge_list.h"

#include <gtest/gtest.h>
#include <vector>

#include "tests/support/errors.h"

namespace weft::concurrent {

static bool operator==(const Edge& x, const Edge& y) {
  return x.a == y.a && x.b == y.b;
}

namespace {

using Names = std::vector<std::uint64_t>;
using Edges = std::vector<Edge>;

void expect_refused(std::string_view text,
                    std::initializer_list<std::string> parts) {
  weft::test::expect_error(ErrorCode::kDataLoss, parts,
                           [&] { parse_edge_list(text, "graph.txt"); });
}

TEST(EdgeList, CountsVerticesInTheOrderOfTheirNames) {
  const NamedEdges graph = parse_edge_list(
      "# Nodes: 3\n900\t5\n5\t900\r\n\n  5 9223372036854775807 \n7 7", "text");
  EXPECT_EQ(graph.names, (Names{5, 7, 900, 9223372036854775807u}));
  EXPECT_EQ(graph.edges, (Edges{{2, 0}, {0, 2}, {0, 3}, {1, 1}}));
}

TEST(EdgeList, SimpleEdgesHaveNeitherLoopsNorCopies) {
  const Edges edges = {{2, 1}, {0, 1}, {1, 2}, {3, 3}, {0, 1}};
  EXPECT_EQ(simple_edges(edges), (Edges{{0, 1}, {1, 2}}));
  EXPECT_TRUE(simple_edges(Edges{{3, 3}}).empty());
}

TEST(EdgeList, NamesTheLineThatIsNoEdge) {
  expect_refused("# comment\n1 2\n\n1 x\n", {"graph.txt:4", "1 x", "two"});
  expect_refused("1 2\n3", {"graph.txt:2"});
  expect_refused("1 2 3\n", {"graph.txt:1"});
  expect_refused("1 -2\n", {"graph.txt:1"});
  expect_refused("1.5 2\n", {"graph.txt:1"});
  expect_refused("1 2x\n", {"graph.txt:1"});
  expect_refused("1 9223372036854775808\n", {"graph.txt:1", "2^63"});
  expect_refused("1 99999999999999999999\n", {"graph.txt:1"});
  expect_refused("# nothing\n", {"no edge"});
}

TEST(EdgeList, ReadsListsOfVertices) {
  EXPECT_EQ(parse_vertex_list("3\n# two\n\n 1 \n", "text"), (Names{3, 1}));
  weft::test::expect_error(ErrorCode::kDataLoss, {"order.txt:2", "one number"},
                           [] { parse_vertex_list("3\n1 2\n", "order.txt"); });
}

}  // namespace
}  // namespace weft::concurrent
