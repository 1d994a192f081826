// How graphs are placed and cut; what the parts compute is in
// tests/comm/partitioned_test.cpp.
#include "weft/place/partition.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/recursions.h"

#include "weft/compiler/flat/lowering.h"
#include "weft/place/rank_placer.h"
#include "weft/runtime/tagged/mailbox.h"

namespace weft::partition_test {
namespace {

using test::expect_error;
using test::kNumber;
using test::layered_fibonacci;
using test::number;
using test::Values;

std::ptrdiff_t count(const FlatGraph& graph, FlatKind kind) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [&](const FlatNode& node) { return node.kind == kind; });
}

std::vector<GraphPart> parts_of(const Graph& graph, std::string_view entry,
                                const RankPlacement& placement) {
  const FunctionRef function = reference_to(*graph.find(entry));
  return partition(
      lower(graph, entry, function.signature->parameters, placement),
      placement);
}

TEST(Partition, EveryRegionIsInOnePart) {
  const auto parts =
      parts_of(layered_fibonacci(), "fib", parse_placement("layer:adder=1", 2));
  ASSERT_EQ(parts.size(), 2u);
  // n < 2, with n - 1 and n - 2 in the branch; the sum, and the constant that
  // is only read where the sum is.
  EXPECT_EQ(count(parts[0].graph, FlatKind::kRegion), 2);
  EXPECT_EQ(count(parts[1].graph, FlatKind::kRegion), 2);
  for (const GraphPart& part : parts) {
    for (const Region& region : part.graph.regions) {
      EXPECT_EQ(region.rank, &part - parts.data());
    }
  }
}

TEST(Partition, AsLittleCrossesAsTheControlNeeds) {
  const auto parts =
      parts_of(layered_fibonacci(), "fib", parse_placement("layer:adder=1", 2));
  // The predicate to rank 1, and at the end the result to rank 0.
  const auto& crossings = parts[0].graph.crossings;
  ASSERT_EQ(crossings.size(), 2u);
  EXPECT_EQ(crossings[0].type.dtype, DType::kI64);
  EXPECT_EQ(std::pair(crossings[0].from, crossings[0].to), std::pair(1, 0));
  EXPECT_EQ(crossings[1].type.dtype, DType::kBool);
  EXPECT_EQ(std::pair(crossings[1].from, crossings[1].to), std::pair(0, 1));
  EXPECT_EQ(count(parts[0].graph, FlatKind::kSend), 1);
  EXPECT_EQ(count(parts[1].graph, FlatKind::kReceive), 1);
  // Both follow both calls, and that of the entry.
  for (const GraphPart& part : parts) {
    for (const CallSite& site : part.graph.sites) {
      EXPECT_FALSE(site.calls.empty());
    }
  }
  const std::string text = to_string(parts[0].graph);
  EXPECT_NE(text.find("send to rank 1 [1]"), std::string::npos) << text;
  EXPECT_NE(text.find("receive from rank 1 [0]"), std::string::npos) << text;
}

TEST(Partition, ARankMayComputeBeforeAndAfterAnother) {
  const TensorType row{DType::kF32, {4}};
  Program program;
  program.define("main", {row}, [](const Values& v) {
    const auto in_layer = [](const char* name, const Value& x) {
      const LayerScope layer(name);
      return tanh(x);
    };
    const Value first = in_layer("a", v[0]);
    const Value second = in_layer("b", first);
    return Values{in_layer("a", second) + first};
  });
  const auto parts = parts_of(program.build(), "main",
                              parse_placement("layer:a=0 layer:b=1", 2));
  EXPECT_EQ(count(parts[0].graph, FlatKind::kRegion), 2);
  EXPECT_EQ(count(parts[1].graph, FlatKind::kRegion), 1);
}

TEST(Partition, OneRankRunsTheGraphItself) {
  const auto parts = parts_of(layered_fibonacci(), "fib", {});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].results, std::vector<int>{0});
  EXPECT_TRUE(parts[0].graph.crossings.empty());
}

TEST(Partition, TheVerifierLooksAtCrossings) {
  auto parts =
      parts_of(layered_fibonacci(), "fib", parse_placement("layer:adder=1", 2));
  parts[0].graph.crossings.clear();
  expect_error(ErrorCode::kInternal, {"the crossing does not exist"},
               [&] { verify(parts[0].graph); });
}

TEST(RankPlacement, TheLongestNameCounts) {
  const RankPlacement placement =
      parse_placement("f=1, f.then=2 layer:a/b=3\n*=4", 5);
  EXPECT_EQ(placement.rank_of("f", {}), 1);
  EXPECT_EQ(placement.rank_of("f.joint", {}), 1);
  EXPECT_EQ(placement.rank_of("f.then.joint", {}), 2);
  EXPECT_EQ(placement.rank_of("ff", {}), 4);
  Location location;
  location.scope = "a/b/c";
  EXPECT_EQ(placement.rank_of("f", location), 3);
  location.scope = "a/bc";
  EXPECT_EQ(placement.rank_of("f", location), 1);
  EXPECT_EQ(parse_placement("", 2).rank_of("f", {}),
            RankPlacement::kWhereDataAre);
  EXPECT_EQ(placement.rank_of_argument(7), 0);
}

TEST(RankPlacement, RefusesWhatIsNotThere) {
  for (const char* text :
       {"f", "f=", "f=x", "f=-1", "f=1x", "=", "f=99999999999", "layer:a"}) {
    expect_error(ErrorCode::kInvalidArgument, {"names no rank"},
                 [&] { parse_placement(text, 2); });
  }
  expect_error(ErrorCode::kInvalidArgument, {"f is placed on rank 2", "0 to 1"},
               [] { parse_placement("f=2", 2); });
  const Graph graph = layered_fibonacci();
  expect_error(ErrorCode::kInvalidArgument, {"no function fob", "fib"},
               [&] { check(parse_placement("fob=1", 2), graph); });
  expect_error(ErrorCode::kInvalidArgument, {"no layer add", "adder"},
               [&] { check(parse_placement("layer:add=1", 2), graph); });
  RankPlacement placement{.ranks = 2};
  placement.results = {2};
  expect_error(ErrorCode::kInvalidArgument, {"result 0", "rank 2"},
               [&] { check(placement, graph); });
  expect_error(ErrorCode::kInvalidArgument, {"0 ranks"},
               [&] { check({.ranks = 0}, graph); });
}

TEST(ActivationTags, TellPathsApart) {
  std::set<ActivationTag> seen;
  std::vector<ActivationTag> level{{}};
  for (int depth = 0; depth < 14; ++depth) {
    std::vector<ActivationTag> next;
    for (const ActivationTag& tag : level) {
      EXPECT_TRUE(seen.insert(tag).second);
      next.push_back(tag_of_call(tag, 1));
      next.push_back(tag_of_call(tag, 2));
    }
    level = std::move(next);
  }
}

TEST(Mailbox, WhatComesFirstWaits) {
  Mailbox mailbox;
  const ActivationTag a = tag_of_call({}, 1);
  const ActivationTag b = tag_of_call({}, 2);
  EXPECT_FALSE(mailbox.expect(a, 0, {nullptr, 7}));
  EXPECT_FALSE(mailbox.expect(a, 1, {nullptr, 8}));
  EXPECT_EQ(mailbox.newest().item.work, 8u);
  Parcel other{b, 0, Tensor::scalar(1.0)};
  EXPECT_FALSE(mailbox.deliver(other));
  Parcel parcel{a, 0, Tensor::scalar(2.0)};
  const auto item = mailbox.deliver(parcel);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->work, 7u);
  EXPECT_EQ(parcel.value.item(), 2);
  EXPECT_EQ(mailbox.newest().crossing, 1);
  const auto kept = mailbox.expect(b, 0, {nullptr, 9});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->item(), 1);
  EXPECT_TRUE(mailbox.is_waiting());
  mailbox.clear();
  EXPECT_FALSE(mailbox.is_waiting());
}

}  // namespace
}  // namespace weft::partition_test
