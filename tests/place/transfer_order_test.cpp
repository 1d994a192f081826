// The orders of transfers, by hand, by brute force and by what must hold.
#include "weft/place/transfer_order.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace weft::transfer_order_test {
namespace {

using Computation = TransferGraph::Computation;
using Places = std::vector<std::size_t>;
using ::testing::ElementsAre;

double makespan(const TransferGraph& graph, const Places& places) {
  return schedule_of(graph, places).makespan;
}

double best_makespan(const TransferGraph& graph) {
  Places places(graph.transfers.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  double best = makespan(graph, places);
  while (std::ranges::next_permutation(places).found) {
    best = std::min(best, makespan(graph, places));
  }
  return best;
}

// The second needs what the first has computed, and a transfer of its own.
const TransferGraph kTwo{.transfers = {2, 2},
                         .computations = {{3, {0}, {}}, {1, {1}, {0}}}};

TEST(TransferOrder, SendsFirstWhatLetsWorkBegin) {
  EXPECT_THAT(timing_aware_order(kTwo), ElementsAre(0, 1));
  // To the graph alone they are alike: either lets the second run with the
  // other.
  EXPECT_THAT(timing_independent_order(kTwo), ElementsAre(0, 0));
  EXPECT_EQ(makespan(kTwo, {0, 1}), 6);
  EXPECT_EQ(makespan(kTwo, {1, 0}), 8);
}

// Two convolutions with their biases: kernel, bias, kernel, bias.
TEST(TransferOrder, TicFollowsAChain) {
  const TransferGraph chain{
      .transfers = {1, 1, 1, 1},
      .computations = {
          {1, {0}, {}}, {1, {1}, {0}}, {1, {2}, {1}}, {1, {3}, {2}}}};
  EXPECT_THAT(timing_independent_order(chain), ElementsAre(0, 0, 2, 3));
  EXPECT_THAT(timing_aware_order(chain), ElementsAre(0, 1, 2, 3));
}

TEST(TransferOrder, WhatNobodyReadsComesLast) {
  const TransferGraph graph{.transfers = {1, 1, 1},
                            .computations = {{1, {1}, {}}, {1, {2}, {0}}}};
  EXPECT_THAT(timing_independent_order(graph), ElementsAre(2, 0, 0));
  EXPECT_THAT(timing_aware_order(graph), ElementsAre(2, 0, 1));
}

// Each transfer lets one computation run: the flow shop of two machines, which
// Johnson's rule solves. Times are small integers, so that many are equal and a
// comparison that is not transitive would go wrong.
TEST(TransferOrder, TacIsTheBestOfAFlowShop) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> seconds(1, 3);
  for (int round = 0; round < 500; ++round) {
    TransferGraph graph;
    const std::size_t count = 1 + round % 6;
    for (std::size_t i = 0; i < count; ++i) {
      graph.transfers.push_back(seconds(random));
      graph.computations.push_back(
          {static_cast<double>(seconds(random)), {i}, {}});
    }
    EXPECT_EQ(makespan(graph, timing_aware_order(graph)), best_makespan(graph))
        << round;
  }
  const TransferGraph tied{
      .transfers = {2, 1, 1},
      .computations = {{1, {0}, {}}, {1, {1}, {}}, {2, {2}, {}}}};
  EXPECT_EQ(makespan(tied, timing_aware_order(tied)), 5);
}

// A network of layers that join what up to two earlier ones made.
TransferGraph random_layers(std::mt19937& random, std::size_t count) {
  std::uniform_real_distribution<double> seconds(0.5, 2);
  TransferGraph graph;
  for (std::size_t i = 0; i < count; ++i) {
    graph.transfers.push_back(seconds(random));
    Computation computation{seconds(random), {i}, {}};
    for (int join = 0; join < 2 && i > 0; ++join) {
      computation.predecessors.push_back(random() % i);
    }
    graph.computations.push_back(std::move(computation));
  }
  return graph;
}

TEST(TransferOrder, TacIsNearTheBestOfSmallGraphs) {
  std::mt19937 random(11);
  double sum = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const TransferGraph graph = random_layers(random, 3 + round % 5);
    const double ratio =
        makespan(graph, timing_aware_order(graph)) / best_makespan(graph);
    EXPECT_LE(ratio, 1.1) << round;
    sum += ratio;
  }
  EXPECT_LE(sum / kRounds, 1.02);
}

TEST(TransferOrder, EveryTransferHasAPlaceAndSchedulesAreBounded) {
  std::mt19937 random(13);
  for (int round = 0; round < 50; ++round) {
    const TransferGraph graph = random_layers(random, 40);
    Places places = timing_aware_order(graph);
    const TransferSchedule schedule = schedule_of(graph, places);
    EXPECT_GE(schedule.makespan, schedule.bound);
    EXPECT_LE(schedule.makespan, schedule.total);
    EXPECT_GE(schedule.efficiency(), 0);
    EXPECT_LE(schedule.efficiency(), 1);
    std::ranges::sort(places);
    for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i], i);
    for (const std::size_t place : timing_independent_order(graph)) {
      EXPECT_LT(place, graph.transfers.size());
    }
  }
}

TEST(TransferOrder, NothingToHideIsPerfect) {
  const TransferGraph wire{.transfers = {1, 2}, .computations = {}};
  EXPECT_EQ(schedule_of(wire, Places{0, 1}).efficiency(), 1);
  const TransferGraph nothing;
  EXPECT_EQ(schedule_of(nothing, Places{}).efficiency(), 1);
  EXPECT_TRUE(timing_aware_order(nothing).empty());
}

// The numbers of computations that are not before each other mean nothing.
TEST(TransferOrder, DoesNotDependOnTheOrderOfNodes) {
  std::mt19937 random(17);
  for (int round = 0; round < 20; ++round) {
    const TransferGraph graph = random_layers(random, 12);
    TransferGraph turned = graph;
    // Those without successors among the next ones can be moved to the end.
    std::vector<std::size_t> leaves;
    for (std::size_t c = 0; c < graph.computations.size(); ++c) {
      const bool is_read = std::ranges::any_of(
          graph.computations, [&](const Computation& other) {
            return std::ranges::count(other.predecessors, c) > 0;
          });
      if (!is_read) leaves.push_back(c);
    }
    ASSERT_FALSE(leaves.empty());
    std::vector<std::size_t> order;
    for (std::size_t c = 0; c < graph.computations.size(); ++c) {
      if (std::ranges::count(leaves, c) == 0) order.push_back(c);
    }
    order.insert(order.end(), leaves.rbegin(), leaves.rend());
    std::vector<std::size_t> at(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
    for (std::size_t i = 0; i < order.size(); ++i) {
      turned.computations[i] = graph.computations[order[i]];
      for (std::size_t& before : turned.computations[i].predecessors) {
        before = at[before];
      }
    }
    EXPECT_EQ(timing_independent_order(turned),
              timing_independent_order(graph));
    EXPECT_EQ(timing_aware_order(turned), timing_aware_order(graph));
  }
}

}  // namespace
}  // namespace weft::transfer_order_test
