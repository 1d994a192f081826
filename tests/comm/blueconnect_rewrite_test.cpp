#include "weft/comm/graph/blueconnect_rewrite.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/comm/graph/network_collectives.h"
#include "weft/comm/transport/thread.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/tensor/symbol.h"

namespace weft::blueconnect_rewrite_test {
namespace {

using ::testing::ElementsAre;

using Hosts = std::vector<std::string>;

// "aabb": ranks 0 and 1 are on host a, 2 and 3 on b.
Hosts hosts_of(std::string_view letters) {
  Hosts hosts;
  for (const char letter : letters) hosts.emplace_back(1, letter);
  return hosts;
}

Function all_reduce_of(const TensorType& type, const RankGroups& groups) {
  FunctionBuilder builder("f");
  return builder.build(
      [&] { return std::vector{all_reduce(builder.parameter(type), groups)}; });
}

Function all_reduce_of(const TensorType& type, std::size_t ranks) {
  return all_reduce_of(type, RankGroups::whole(static_cast<int>(ranks)));
}

// Each node: "reduce_scatter [0, 1, 2, 3] by 2 -> f32[4]".
std::vector<std::string> summary(const Function& function) {
  std::vector<std::string> lines;
  for (const Node& node : function.nodes()) {
    std::string line = node.op->name();
    if (node.op->has(kCollective)) {
      const RankGroups groups = RankGroups::of(node.attributes);
      line += fmt::format(" [{}] by {}", fmt::join(groups.ranks, ", "),
                          groups.size);
    }
    lines.push_back(line + " -> " + to_string(function.type(node.outputs[0])));
  }
  return lines;
}

TEST(BlueConnectRewrite, TakesAnAllReduceApartByHost) {
  const auto [function, decisions] = rewrite_blueconnect(
      all_reduce_of({DType::kF32, {2, 9}}, 6), hosts_of("aaabbb"));
  EXPECT_THAT(summary(function),
              ElementsAre("reshape -> f32[18]",
                          "reduce_scatter [0, 1, 2, 3, 4, 5] by 3 -> f32[6]",
                          "all_reduce [0, 3, 1, 4, 2, 5] by 2 -> f32[6]",
                          "all_gather [0, 1, 2, 3, 4, 5] by 3 -> f32[18]",
                          "reshape -> f32[2, 9]"));
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].node, 0);
  EXPECT_EQ(decisions[0].scatter_sizes, Integers{3});
  EXPECT_EQ(decisions[0].reason, "2 ranks make a single scatter group of 2");
}

TEST(BlueConnectRewrite, GoesOnInPairsAcrossHosts) {
  const auto [function, decisions] = rewrite_blueconnect(
      all_reduce_of({DType::kF32, {16}}, 8), hosts_of("aabbccdd"));
  EXPECT_THAT(
      summary(function),
      ElementsAre("reduce_scatter [0, 1, 2, 3, 4, 5, 6, 7] by 2 -> f32[8]",
                  "reduce_scatter [0, 2, 4, 6, 1, 3, 5, 7] by 2 -> f32[4]",
                  "all_reduce [0, 4, 2, 6, 1, 5, 3, 7] by 2 -> f32[4]",
                  "all_gather [0, 2, 4, 6, 1, 3, 5, 7] by 2 -> f32[8]",
                  "all_gather [0, 1, 2, 3, 4, 5, 6, 7] by 2 -> f32[16]"));
  EXPECT_EQ(decisions.at(0).scatter_sizes, (Integers{2, 2}));
}

TEST(BlueConnectRewrite, SortsTheRanksOfAGroupByHost) {
  const auto rewritten = rewrite_blueconnect(
      all_reduce_of({DType::kF32, {4}}, 4), hosts_of("abab"));
  EXPECT_THAT(summary(rewritten.function),
              ElementsAre("reduce_scatter [0, 2, 1, 3] by 2 -> f32[2]",
                          "all_reduce [0, 1, 2, 3] by 2 -> f32[2]",
                          "all_gather [0, 2, 1, 3] by 2 -> f32[4]"));
}

// Each precondition: the node stays, and the reason is given.
void expect_left_alone(const Function& function, const Hosts& hosts,
                       std::string_view reason) {
  const auto rewritten = rewrite_blueconnect(function, hosts);
  EXPECT_EQ(to_string(rewritten.function), to_string(function));
  ASSERT_EQ(rewritten.decisions.size(), 1u);
  EXPECT_TRUE(rewritten.decisions[0].scatter_sizes.empty());
  EXPECT_EQ(rewritten.decisions[0].reason, reason);
}

TEST(BlueConnectRewrite, LeavesAloneWhatDoesNotFit) {
  const TensorType twelve{DType::kF32, {12}};
  expect_left_alone(all_reduce_of(twelve, 4), hosts_of("aaab"),
                    "a group has 3 ranks on one host and 1 on another");
  expect_left_alone(all_reduce_of(twelve, 3), hosts_of("abc"),
                    "3 ranks do not divide into scatter groups of 2");
  expect_left_alone(all_reduce_of(twelve, 4), hosts_of("aaaa"),
                    "4 ranks make a single scatter group of 4");
  expect_left_alone(all_reduce_of({DType::kF32, {3, 3}}, 4), hosts_of("aabb"),
                    "9 elements do not divide into 2 parts");
  expect_left_alone(all_reduce_of({DType::kF32, {}}, 4), hosts_of("aabb"),
                    "1 elements do not divide into 2 parts");
  expect_left_alone(all_reduce_of({DType::kF32, {symbol("N"), 2}}, 4),
                    hosts_of("aabb"),
                    "the number of elements, 2*N, is not known");
  // Two groups of 6: 3 ranks on each of 2 hosts, and 2 on each of 3.
  expect_left_alone(all_reduce_of(twelve, {RankGroups::whole(12).ranks, 6}),
                    hosts_of("aaabbbccddee"),
                    "one group scatters among 3 ranks, another among 2");
  expect_left_alone(all_reduce_of(twelve, {{0, 1}, 1}), hosts_of("ab"),
                    "1 ranks do not divide into scatter groups of 2");
}

TEST(BlueConnectRewrite, StopsWhereTheElementsNoLongerDivide) {
  const auto [function, decisions] = rewrite_blueconnect(
      all_reduce_of({DType::kF32, {6}}, 8), hosts_of("aabbccdd"));
  EXPECT_EQ(decisions.at(0).scatter_sizes, Integers{2});
  EXPECT_EQ(decisions.at(0).reason, "3 elements do not divide into 2 parts");
  EXPECT_EQ(function.nodes().size(), 3u);
}

TEST(BlueConnectRewrite, RefusesHostsOfAnotherNumberOfRanks) {
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"an all_reduce of 4 ranks declines the hosts of 2"}, [] {
                       rewrite_blueconnect(all_reduce_of({DType::kF32, {4}}, 4),
                                           hosts_of("ab"));
                     });
}

// A step of a model: an all_reduce that fits, one that does not, a gradient
// through one, and ops around them.
Function example(DType dtype, int ranks) {
  FunctionBuilder builder("example");
  const RankGroups all = RankGroups::whole(ranks);
  return builder.build([&] {
    const Value x = builder.parameter({dtype, {4, 12}}, "x");
    const Value odd = builder.parameter({dtype, {7}}, "odd");
    const Value y = all_reduce(x * x + x, all);
    std::vector<Value> results = {y, all_reduce(odd, all) + odd};
    if (is_floating(dtype)) {
      const Value loss = mean(y * y);
      results.push_back(gradients(loss, {&x, 1})[0]);
    }
    return results;
  });
}

Tensor drawn(const TensorType& type, int rank) {
  Tensor tensor = Tensor::empty(type);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto n = (i * 37 + std::int64_t{rank} * 101) % 199 - 99;
    if (type.dtype == DType::kI64) {
      tensor.data<std::int64_t>()[i] = n;
    } else {
      tensor.data<float>()[i] = static_cast<float>(n) / 64.0f + 1e-3f;
    }
  }
  return tensor;
}

using PerRank = std::vector<std::vector<Tensor>>;

// The results of each rank, before or after the rewrite.
PerRank run_on(const Hosts& hosts, DType dtype, bool is_rewritten) {
  const int ranks = static_cast<int>(hosts.size());
  PerRank results(hosts.size());
  ThreadWorld world(ranks, {.most_delay = 1e-4, .seed = 9, .hosts = hosts});
  world.run([&](Transport& transport) {
    Hosts seen;
    for (int r = 0; r < ranks; ++r) seen.push_back(transport.host(r));
    Function function = example(dtype, ranks);
    if (is_rewritten) {
      auto rewritten = rewrite_blueconnect(function, seen);
      verify(rewritten.function);
      EXPECT_FALSE(rewritten.decisions.at(0).scatter_sizes.empty());
      EXPECT_TRUE(rewritten.decisions.at(1).scatter_sizes.empty());
      function = std::move(rewritten.function);
    }
    Engine engine(transport);
    Communicator all(transport);
    NetworkCollectives network(all, engine);
    CollectivesScope scope(network);
    const int rank = transport.rank();
    Executable executable(std::move(function));
    results[static_cast<std::size_t>(rank)] = executable.run(
        {{drawn({dtype, {4, 12}}, rank), drawn({dtype, {7}}, rank)}});
  });
  return results;
}

// 4, 6 and 8 ranks on 2 to 4 hosts, in turn, one per host.
constexpr std::string_view kWorlds[] = {"aabb",     "abab",     "aaabbb",
                                        "aabbcc",   "abcabc",   "aaaabbbb",
                                        "aabbccdd", "abcdabcd", "abcd"};

TEST(BlueConnectRewrite, KeepsIntegersAsTheyAre) {
  for (const std::string_view letters : kWorlds) {
    SCOPED_TRACE(letters);
    const auto before = run_on(hosts_of(letters), DType::kI64, false);
    const auto after = run_on(hosts_of(letters), DType::kI64, true);
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      for (std::size_t i = 0; i < before[rank].size(); ++i) {
        EXPECT_TRUE(identical(before[rank][i], after[rank][i]));
      }
    }
  }
}

TEST(BlueConnectRewrite, KeepsFloatsUpToRoundingAndAlikeOnAllRanks) {
  for (const std::string_view letters : kWorlds) {
    SCOPED_TRACE(letters);
    const auto before = run_on(hosts_of(letters), DType::kF32, false);
    const auto after = run_on(hosts_of(letters), DType::kF32, true);
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      EXPECT_TRUE(identical(after[rank][0], after[0][0]));
      for (std::size_t i = 0; i < before[rank].size(); ++i) {
        EXPECT_TRUE(test::near(before[rank][i], after[rank][i], 1e-5));
      }
    }
  }
}

TEST(BlueConnectRewrite, ASecondRunFindsNothing) {
  for (const std::string_view letters : kWorlds) {
    SCOPED_TRACE(letters);
    const Hosts hosts = hosts_of(letters);
    const auto once = rewrite_blueconnect(
        example(DType::kF32, static_cast<int>(hosts.size())), hosts);
    const auto twice = rewrite_blueconnect(once.function, hosts);
    EXPECT_EQ(to_string(twice.function), to_string(once.function));
    ASSERT_EQ(twice.decisions.size(), once.decisions.size());
    for (const auto& decision : twice.decisions) {
      EXPECT_TRUE(decision.scatter_sizes.empty());
      EXPECT_FALSE(decision.reason.empty());
    }
  }
}

}  // namespace
}  // namespace weft::blueconnect_rewrite_test
