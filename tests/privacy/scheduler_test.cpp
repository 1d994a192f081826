// Schedulers of privacy budgets: hand cases, brute force, and what none may
// break.
#include "weft/privacy/scheduler.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "tests/support/errors.h"

#include "weft/privacy/grant_program.h"
#include "weft/privacy/knapsack.h"

namespace weft::budget_scheduler_test {
namespace {

using namespace weft::privacy;
using test::expect_error;

using Granted = std::vector<std::size_t>;

// All schedulers, in the forms that decide differently.
const char* const kSchedulers[] = {"dpk",
                                   "dpk(recompute=7)",
                                   "dpk(ties=lowest)",
                                   "dpk(normalize=capacity)",
                                   "dpk(normalize=none)",
                                   "dpk(loss=0.1)",
                                   "dpk(fair_shares=10)",
                                   "dpf",
                                   "fcfs",
                                   "optimal"};

Granted run(std::string_view scheduler, const BudgetProblem& problem) {
  return schedule(parse_scheduler(scheduler), problem);
}

BudgetBlock block_of(const RenyiOrders& orders, std::vector<double> capacity) {
  const RenyiCurve curve(orders, std::move(capacity));
  return {curve, curve, RenyiCurve(orders)};
}

const RenyiOrders kOne({2});
const RenyiOrders kTwo({2, 4});

// One order and three blocks of 1: T0 wants half of each, T1 to T3 more of one.
BudgetProblem three_blocks() {
  BudgetProblem problem;
  for (int i = 0; i < 3; ++i) problem.blocks.push_back(block_of(kOne, {1}));
  problem.claims.resize(4);
  for (std::size_t block = 0; block < 3; ++block) {
    problem.claims[0].demands.push_back({block, RenyiCurve(kOne, {0.5})});
    problem.claims[block + 1].demands = {{block, RenyiCurve(kOne, {0.6})}};
  }
  return problem;
}

// One block, two orders.
BudgetProblem two_orders() {
  BudgetProblem problem;
  problem.blocks = {block_of(kTwo, {1, 1})};
  for (int i = 0; i < 4; ++i)
    problem.claims.push_back({{{0, RenyiCurve(kTwo, {0.2, 0.9})}}});
  for (int i = 0; i < 2; ++i)
    problem.claims.push_back({{{0, RenyiCurve(kTwo, {0.8, 0.6})}}});
  return problem;
}

TEST(BudgetScheduler, ByHandOverBlocks) {
  EXPECT_EQ(run("dpf", three_blocks()), Granted({0}));
  EXPECT_EQ(run("fcfs", three_blocks()), Granted({0}));
  EXPECT_EQ(run("dpk", three_blocks()), Granted({1, 2, 3}));
  EXPECT_EQ(run("optimal", three_blocks()), Granted({1, 2, 3}));
}

TEST(BudgetScheduler, ByHandOverOrders) {
  EXPECT_EQ(run("dpf", two_orders()), Granted({4, 0}));
  EXPECT_EQ(run("dpk", two_orders()), Granted({0, 1, 2, 3}));
  EXPECT_EQ(run("optimal", two_orders()), Granted({0, 1, 2, 3}));
}

TEST(BudgetScheduler, DominantSharesThatAreEqualLookAtTheNext) {
  BudgetProblem problem;
  problem.blocks = {block_of(kTwo, {1, 2}), block_of(kTwo, {1, 2})};
  problem.claims = {{{{0, RenyiCurve(kTwo, {0.9, 1})}}},
                    {{{0, RenyiCurve(kTwo, {0.9, 0.5})}}},
                    {{{1, RenyiCurve(kTwo, {0.1, 1.79})}}}};
  EXPECT_EQ(run("dpf", problem), Granted({2, 1, 0}));
}

TEST(BudgetScheduler, TiesAreAllOrTheLowest) {
  // One fits at either order. With both, claim 1 takes less of what counts.
  BudgetProblem problem;
  problem.blocks = {block_of(kTwo, {1, 1})};
  problem.claims = {{{{0, RenyiCurve(kTwo, {0.7, 0.9})}}},
                    {{{0, RenyiCurve(kTwo, {0.8, 0.6})}}}};
  EXPECT_EQ(run("dpk(ties=lowest)", problem), Granted({0}));
  EXPECT_EQ(run("dpk(ties=all)", problem), Granted({1}));
}

TEST(BudgetScheduler, WeightIsWorthMore) {
  BudgetProblem problem = three_blocks();
  problem.claims[0].weight = 5;
  for (const char* scheduler : {"dpk", "dpk(loss=0.01)", "optimal"})
    EXPECT_EQ(run(scheduler, problem), Granted({0})) << scheduler;
}

TEST(BudgetScheduler, FairSharesGoFirstWhereAskedFor) {
  BudgetProblem problem;
  problem.blocks = {block_of(kOne, {1}), block_of(kOne, {1})};
  // A small claim on both blocks, and claims on one that would fill it.
  problem.claims = {
      {{{0, RenyiCurve(kOne, {0.5})}}},
      {{{0, RenyiCurve(kOne, {0.5})}}},
      {{{0, RenyiCurve(kOne, {0.1})}, {1, RenyiCurve(kOne, {0.9})}}},
      {{{0, RenyiCurve(kOne, {0.2})}, {1, RenyiCurve(kOne, {0.2})}}}};
  problem.claims[3].weight = 0.1;
  EXPECT_EQ(run("dpk", problem), Granted({0, 1}));
  EXPECT_EQ(run("dpk(fair_shares=5)", problem), Granted({3, 0}));
}

// The most claims of one block: at one order, the smallest ones.
std::size_t most_of_one_block(const BudgetProblem& problem) {
  std::size_t most = 0;
  const BudgetBlock& block = problem.blocks[0];
  for (std::size_t a = 0; a < block.capacity.size(); ++a) {
    std::vector<double> sizes;
    for (const BudgetClaim& claim : problem.claims)
      sizes.push_back(claim.demands[0].curve[a]);
    std::sort(sizes.begin(), sizes.end());
    double left = block.capacity[a];
    std::size_t count = 0;
    while (count < sizes.size() && sizes[count] <= left) left -= sizes[count++];
    most = std::max(most, count);
  }
  return most;
}

std::vector<double> random_curve(std::mt19937& random, std::size_t orders,
                                 double most) {
  std::uniform_real_distribution<double> share(0, most);
  std::vector<double> values(orders);
  for (double& value : values) value = share(random) * share(random) / most;
  return values;
}

BudgetProblem random_problem(std::mt19937& random, std::size_t blocks,
                             std::size_t claims, bool has_weights) {
  const RenyiOrders orders({2, 3, 8});
  BudgetProblem problem;
  for (std::size_t j = 0; j < blocks; ++j) {
    auto block = block_of(orders, random_curve(random, 3, 2));
    // Some is locked, and some spent: perhaps more than that at an order.
    block.unlocked *= std::uniform_real_distribution<double>(0.5, 1)(random);
    std::vector<double> spent = random_curve(random, 3, 1);
    spent[random() % 3] = 0;
    block.consumed = RenyiCurve(orders, spent);
    problem.blocks.push_back(block);
  }
  for (std::size_t i = 0; i < claims; ++i) {
    BudgetClaim claim;
    for (std::size_t j = 0; j < blocks; ++j) {
      if (blocks > 1 && random() % 2 == 0) continue;
      claim.demands.push_back(
          {j, RenyiCurve(orders, random_curve(random, 3, 0.8))});
    }
    if (has_weights) claim.weight = 1 + static_cast<double>(random() % 9);
    problem.claims.push_back(claim);
  }
  return problem;
}

double weight_of(const BudgetProblem& problem, const Granted& granted) {
  double weight = 0;
  for (const std::size_t claim : granted)
    weight += problem.claims[claim].weight;
  return weight;
}

// Each block has an order within what was unlocked, and nobody is granted
// twice.
void expect_safe(const BudgetProblem& problem, Granted granted,
                 const char* scheduler) {
  std::vector<RenyiCurve> consumed;
  for (const BudgetBlock& block : problem.blocks)
    consumed.push_back(block.consumed);
  for (const std::size_t claim : granted) {
    for (const auto& [block, curve] : problem.claims[claim].demands) {
      ASSERT_LT(block, consumed.size());
      consumed[block] += curve;
    }
  }
  for (std::size_t j = 0; j < consumed.size(); ++j) {
    bool holds = consumed[j] == problem.blocks[j].consumed;
    for (std::size_t a = 0; a < consumed[j].size(); ++a)
      holds |= consumed[j][a] <= problem.blocks[j].unlocked[a];
    EXPECT_TRUE(holds) << scheduler << " block " << j;
  }
  std::sort(granted.begin(), granted.end());
  EXPECT_EQ(std::adjacent_find(granted.begin(), granted.end()), granted.end());
}

TEST(BudgetScheduler, NeverOverspendsAndIsNeverAboveTheOptimum) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const BudgetProblem problem =
        random_problem(random, 1 + round % 4, 12, round % 3 == 0);
    const double optimum = weight_of(problem, run("optimal", problem));
    for (const char* scheduler : kSchedulers) {
      const Granted granted = run(scheduler, problem);
      expect_safe(problem, granted, scheduler);
      EXPECT_LE(weight_of(problem, granted), optimum + 1e-9) << scheduler;
      EXPECT_EQ(run(scheduler, problem), granted) << scheduler;
    }
  }
}

TEST(BudgetScheduler, OptimalIsWhatTryingAllSays) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    const BudgetProblem problem = random_problem(random, 3, 9, true);
    double most = 0;
    for (unsigned chosen = 0; chosen < 1u << 9; ++chosen) {
      Granted all;
      for (std::size_t i = 0; i < 9; ++i)
        if ((chosen >> i & 1u) != 0) all.push_back(i);
      BudgetProblem only = problem;
      only.claims.clear();
      for (const std::size_t i : all) only.claims.push_back(problem.claims[i]);
      if (run("fcfs", only).size() == all.size())
        most = std::max(most, weight_of(problem, all));
    }
    EXPECT_DOUBLE_EQ(weight_of(problem, run("optimal", problem)), most);
  }
}

// No more than the optimum is excluded, and nothing more where claims agree on
// an order.
TEST(GrantProgram, BoundsFromAbove) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const BudgetProblem problem =
        random_problem(random, 1 + round % 4, 12, round % 3 == 0);
    const double optimum = weight_of(problem, run("optimal", problem));
    EXPECT_GE(most_grantable(problem, 60), optimum - 1e-6);
  }
  EXPECT_NEAR(most_grantable(three_blocks(), 60), 3, 1e-6);
  EXPECT_NEAR(most_grantable(two_orders(), 60), 4, 1e-6);
  // Four claims that fit three by three, as they differ in the order at which
  // they take little: the bound does not see it.
  BudgetProblem crossed{{block_of(kTwo, {1, 1})}, {}};
  for (int i = 0; i < 2; ++i) {
    crossed.claims.push_back({{{0, RenyiCurve(kTwo, {0.6, 0.1})}}});
    crossed.claims.push_back({{{0, RenyiCurve(kTwo, {0.1, 0.6})}}});
  }
  EXPECT_EQ(run("optimal", crossed).size(), 3u);
  EXPECT_NEAR(most_grantable(crossed, 60), 4, 1e-6);
}

// An order at which every claim takes more is no choice, and one that some
// claims take less at is.
TEST(GrantProgram, LeavesOutOrdersThatAreNeverBetter) {
  const auto columns = [](std::vector<double> first,
                          std::vector<double> second) {
    const RenyiOrders orders({2, 3, 4});
    BudgetProblem problem{{block_of(orders, {1, 1, 1})}, {}};
    problem.claims.push_back({{{0, RenyiCurve(orders, std::move(first))}}});
    problem.claims.push_back({{{0, RenyiCurve(orders, std::move(second))}}});
    return grant_program(problem, BudgetState(problem)).columns.size();
  };
  EXPECT_EQ(columns({0.2, 0.3, 0.4}, {0.1, 0.2, 0.3}), 2u);
  EXPECT_EQ(columns({0.2, 0.2, 0.2}, {0.1, 0.1, 0.1}), 2u);
  EXPECT_EQ(columns({0.2, 0.3, 0.4}, {0.3, 0.2, 0.4}), 4u);
}

TEST(BudgetScheduler, OneBlockOfEqualWeightsIsPackedOptimally) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    BudgetProblem problem = random_problem(random, 1, 40, false);
    BudgetBlock& block = problem.blocks[0];
    block.unlocked = block.capacity;
    block.consumed = RenyiCurve(block.capacity.orders());
    EXPECT_EQ(run("dpk(ties=lowest)", problem).size(),
              most_of_one_block(problem));
  }
}

TEST(BudgetScheduler, UnitsOfAnOrderDoNotMatter) {
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    const BudgetProblem problem = random_problem(random, 3, 30, false);
    BudgetProblem scaled = problem;
    const auto scale = [](std::size_t block, const RenyiCurve& curve) {
      std::vector<double> values(curve.values().begin(), curve.values().end());
      // Powers of two round nothing.
      for (std::size_t a = 0; a < values.size(); ++a)
        values[a] *=
            std::exp2(static_cast<double>(block) - 2 * static_cast<double>(a));
      return RenyiCurve(curve.orders(), std::move(values));
    };
    for (std::size_t j = 0; j < scaled.blocks.size(); ++j) {
      BudgetBlock& block = scaled.blocks[j];
      for (RenyiCurve* curve :
           {&block.capacity, &block.unlocked, &block.consumed})
        *curve = scale(j, *curve);
    }
    for (BudgetClaim& claim : scaled.claims)
      for (auto& [block, curve] : claim.demands) curve = scale(block, curve);
    for (const char* scheduler :
         {"dpk", "dpk(normalize=capacity)", "dpf", "fcfs"})
      EXPECT_EQ(run(scheduler, problem), run(scheduler, scaled)) << scheduler;
  }
}

TEST(BudgetScheduler, WhatFitsToTheLastDigitIsSeenToFit) {
  // 1 - 0.8 is less than 0.2, and 0.8 + 0.2 is 1.
  BudgetProblem problem;
  problem.blocks = {block_of(kOne, {1}), block_of(kOne, {1})};
  problem.claims = {
      {{{0, RenyiCurve(kOne, {0.8})}}, 100},
      {{{0, RenyiCurve(kOne, {0.2})}, {1, RenyiCurve(kOne, {0.5})}}},
      {{{0, RenyiCurve(kOne, {0.2})}}}};
  // The second takes more: it must not go first for being first.
  EXPECT_EQ(run("dpk(normalize=capacity)", problem), Granted({0, 2}));
}

TEST(BudgetScheduler, EndsOfDemandsAndCapacities) {
  const double infinity = std::numeric_limits<double>::infinity();
  BudgetProblem problem;
  problem.blocks = {block_of(kTwo, {0, 0}), block_of(kTwo, {1, 1})};
  problem.claims = {{{{0, RenyiCurve(kTwo, {0, 0})}}},
                    {{{0, RenyiCurve(kTwo, {1e-9, 1e-9})}}},
                    {{{7, RenyiCurve(kTwo, {0, 0})}}},
                    {{{1, RenyiCurve(kTwo, {infinity, 0.5})}}},
                    {{{1, RenyiCurve(kTwo, {infinity, infinity})}}},
                    {}};
  for (const char* scheduler : kSchedulers) {
    Granted granted = run(scheduler, problem);
    std::sort(granted.begin(), granted.end());
    EXPECT_EQ(granted, Granted({0, 3, 5})) << scheduler;
    EXPECT_EQ(run(scheduler, {}), Granted()) << scheduler;
  }
}

TEST(BudgetScheduler, RefusesWhatIsNoProblem) {
  BudgetProblem problem = two_orders();
  const auto fails = [&](std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { run("fcfs", problem); });
    problem = two_orders();
  };
  problem.claims[2].demands[0].curve = RenyiCurve(kTwo, {0.1, -0.1});
  fails({"claim 2", "-0.1", "order 4"});
  problem.claims[1].demands.push_back(problem.claims[1].demands[0]);
  fails({"claim 1", "block 0 twice", "add its demands up"});
  problem.claims[0].weight = 0;
  fails({"weight of 0"});
  problem.claims[0].demands[0].curve = RenyiCurve(kOne, {0.1});
  fails({"claim 0", "other orders"});
  problem.blocks.push_back(block_of(kOne, {1}));
  fails({"different orders"});
  expect_error(ErrorCode::kInvalidArgument, {"dpk"},
               [] { parse_scheduler("dpkk"); });
}

TEST(BudgetScheduler, OptimalSaysWhenTimeIsOver) {
  std::mt19937 random(5);
  const BudgetProblem problem = random_problem(random, 12, 400, true);
  expect_error(ErrorCode::kExhausted, {"0.05 s"},
               [&] { run("optimal(seconds=0.05)", problem); });
}

TEST(Knapsack, GreedyIsAtLeastHalfAndTheSchemeAsCloseAsItSays) {
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    std::vector<KnapsackItem> items(10);
    for (auto& item : items)
      item = {std::uniform_real_distribution<double>(0, 1)(random),
              std::uniform_real_distribution<double>(0.1, 5)(random)};
    std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
      return a.size / a.value < b.size / b.value;
    });
    double most = 0;
    for (unsigned chosen = 0; chosen < 1u << 10; ++chosen) {
      double size = 0;
      double value = 0;
      for (std::size_t i = 0; i < 10; ++i) {
        if ((chosen >> i & 1u) == 0) continue;
        size += items[i].size;
        value += items[i].value;
      }
      if (size <= 1.5) most = std::max(most, value);
    }
    const double greedy = greedy_value(items, {.most = 1.5});
    EXPECT_GE(greedy, most / 2);
    EXPECT_LE(greedy, most + 1e-12);
    for (const double loss : {0.3, 0.01}) {
      const double near = nearly_optimal_value(items, {.most = 1.5}, loss);
      EXPECT_GE(near, (1 - loss) * most);
      EXPECT_LE(near, most + 1e-12);
    }
  }
}

TEST(Knapsack, ABigItemIsWorthMoreThanManySmallOnes) {
  const std::vector<KnapsackItem> items = {{0.01, 1}, {1, 50}};
  EXPECT_EQ(greedy_value(items, {.most = 1}), 50);
  EXPECT_EQ(greedy_value(items, {.used = 0.5, .most = 1}), 1);
  EXPECT_EQ(greedy_value({}, {.most = 1}), 0);
  EXPECT_EQ(nearly_optimal_value({}, {.most = 1}, 0.1), 0);
}

}  // namespace
}  // namespace weft::budget_scheduler_test
