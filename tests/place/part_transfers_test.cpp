// What parts of graphs wait for, by hand.
#include "weft/place/part_transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/recursions.h"

#include "weft/place/partition.h"
#include "weft/place/rank_placer.h"

namespace weft::part_transfers_test {
namespace {

using test::layered_fibonacci;
using test::Values;
using ::testing::ElementsAre;

const TensorType kMatrix{DType::kF32, {4, 4}};

GraphPart part_of(const Graph& graph, std::string_view entry,
                  const RankPlacement& placement, std::size_t rank) {
  const FunctionRef function = reference_to(*graph.find(entry));
  auto parts =
      partition(lower(graph, entry, function.signature->parameters, placement),
                placement);
  return std::move(parts[rank]);
}

PartTransfers by_nodes(const FlatGraph& part, int rank) {
  std::vector<RegionSteps> steps;
  for (const Region& region : part.regions) {
    steps.push_back(steps_of_nodes(region.function));
  }
  return transfers_of(part, rank, steps);
}

// main(x, b, a) = ((x a) a) b, whose matrices are another rank's: the graph
// lists them in the order that computing does not want.
Graph two_layers() {
  Program program;
  program.define("main", {kMatrix, kMatrix, kMatrix}, [](const Values& v) {
    return Values{matmul(matmul(matmul(v[0], v[2]), v[2]), v[1])};
  });
  return program.build();
}

TEST(PartTransfers, AreTheArgumentsThatOthersSend) {
  const RankPlacement placement{
      .ranks = 2, .others = 0, .arguments = {0, 1, 1}};
  const GraphPart part = part_of(two_layers(), "main", placement, 0);
  const PartTransfers found = by_nodes(part.graph, 0);
  ASSERT_EQ(found.crossings.size(), 2u);
  std::vector<int> arguments;
  for (const int crossing : found.crossings) {
    arguments.push_back(
        part.graph.crossings[static_cast<std::size_t>(crossing)].argument);
  }
  const std::size_t a = arguments[0] == 2 ? 0 : 1;
  const auto& computations = found.graph.computations;
  ASSERT_EQ(computations.size(), 3u);
  EXPECT_THAT(computations[0].transfers, ElementsAre(a));
  EXPECT_TRUE(computations[0].predecessors.empty());
  EXPECT_THAT(computations[1].transfers, ElementsAre(a));
  EXPECT_THAT(computations[1].predecessors, ElementsAre(0));
  EXPECT_THAT(computations[2].transfers, ElementsAre(1 - a));
  EXPECT_THAT(computations[2].predecessors, ElementsAre(1));
  TransferGraph timed = found.graph;
  for (double& seconds : timed.transfers) seconds = 1;
  for (auto& computation : timed.computations) computation.seconds = 1;
  EXPECT_EQ(timing_aware_order(timed)[a], 0u);
  // The rank that sends them receives the result of nobody.
  EXPECT_TRUE(by_nodes(part_of(two_layers(), "main", placement, 1).graph, 1)
                  .crossings.empty());
}

// Its second half waits for a value that the other rank computes from the
// first.
TEST(PartTransfers, AreTheValuesThatOthersCompute) {
  Program program;
  const FunctionRef there = program.define(
      "there", {kMatrix, kMatrix},
      [](const Values& v) { return Values{matmul(v[0], v[1])}; });
  program.define("main", {kMatrix, kMatrix}, [&](const Values& v) {
    const Value middle = call(there, Values{v[0] + v[0], v[1]})[0];
    return Values{middle * middle};
  });
  RankPlacement placement = parse_placement("there=1 *=0", 2);
  placement.arguments = {0, 1};
  const Graph graph = program.build();
  const GraphPart part = part_of(graph, "main", placement, 0);
  const PartTransfers found = by_nodes(part.graph, 0);
  ASSERT_EQ(found.crossings.size(), 1u);
  const auto& computations = found.graph.computations;
  ASSERT_EQ(computations.size(), 2u);
  EXPECT_TRUE(computations[0].transfers.empty());
  EXPECT_THAT(computations[1].transfers, ElementsAre(0));
}

// A recursion leads back to what is being looked at.
TEST(PartTransfers, EndInARecursion) {
  const RankPlacement placement = parse_placement("layer:adder=1", 2);
  for (int rank = 0; rank < 2; ++rank) {
    const GraphPart part = part_of(layered_fibonacci(), "fib", placement,
                                   static_cast<std::size_t>(rank));
    const PartTransfers found = by_nodes(part.graph, rank);
    EXPECT_EQ(found.crossings.size(), 1u);
    std::size_t nodes = 0;
    for (const Region& region : part.graph.regions) {
      nodes += region.function.nodes().size();
    }
    EXPECT_EQ(found.graph.computations.size(), nodes);
    EXPECT_GE(schedule_of(found.graph, std::vector<std::size_t>{0}).makespan,
              0);
  }
}

}  // namespace
}  // namespace weft::part_transfers_test
