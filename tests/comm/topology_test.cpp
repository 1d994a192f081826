#include "weft/comm/transport/topology.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::topology_test {
namespace {

using test::expect_error;

TEST(Topology, ReadsLevelsInnermostFirst) {
  const Topology topology =
      parse_topology("4@5us,35GB/s x 64@ 1.5 ms, 8Gbit/s");
  ASSERT_EQ(topology.levels.size(), 2u);
  EXPECT_EQ(topology.levels[0], (Level{4, 5e-6, 1 / 35e9}));
  EXPECT_EQ(topology.levels[1], (Level{64, 1.5e-3, 1 / 1e9}));
  EXPECT_EQ(topology.ranks(), 256);
}

TEST(Topology, TextIsReadBack) {
  for (const char* text : {"1@0ns,infTB/s", "4@5us,35GB/s x 64@5us,10GB/s",
                           "3@250ns,1.5MB/s x 2@2ms,12.5kB/s x 5@1s,7B/s"}) {
    EXPECT_EQ(to_string(parse_topology(text)), text);
  }
  // It comes in other units than it was written in.
  EXPECT_EQ(to_string(parse_topology("2@0.005ms,80Gbit/s")), "2@5us,10GB/s");
}

TEST(Topology, KnowsWhichFabricJoinsTwoRanks) {
  // rank = i0 + 3 (i1 + 2 i2)
  const Topology topology =
      parse_topology("3@1us,1GB/s x 2@2us,1GB/s x 4@3us,1GB/s");
  EXPECT_EQ(topology.level_between(7, 7), -1);
  EXPECT_EQ(topology.level_between(6, 8), 0);
  EXPECT_EQ(topology.level_between(6, 9), 1);
  EXPECT_EQ(topology.level_between(5, 6), 2);
  EXPECT_EQ(topology.level_between(0, 23), 2);
  EXPECT_EQ(topology.unit_of(17, 0), 17);
  EXPECT_EQ(topology.unit_of(17, 1), 5);
  EXPECT_EQ(topology.unit_of(17, 2), 2);
}

TEST(Topology, PointsAtMistakes) {
  expect_error(ErrorCode::kInvalidArgument, {"number of units", "^", "hint"},
               [] { parse_topology(""); });
  expect_error(ErrorCode::kInvalidArgument, {"number of units"},
               [] { parse_topology("0@5us,1GB/s"); });
  expect_error(ErrorCode::kInvalidArgument, {"'@' expected"},
               [] { parse_topology("4"); });
  expect_error(ErrorCode::kInvalidArgument, {"a time such as 5us"},
               [] { parse_topology("4@5,1GB/s"); });
  expect_error(ErrorCode::kInvalidArgument, {"a time such as 5us"},
               [] { parse_topology("4@-5us,1GB/s"); });
  expect_error(ErrorCode::kInvalidArgument, {"a rate such as 10GB/s"},
               [] { parse_topology("4@5us,1GiB/s"); });
  expect_error(ErrorCode::kInvalidArgument, {"above 0"},
               [] { parse_topology("4@5us,0GB/s"); });
  expect_error(ErrorCode::kInvalidArgument,
               {"'x' or the end", "\n  4@5us,1GB/s y", "\n              ^"},
               [] { parse_topology("4@5us,1GB/s y"); });
  expect_error(ErrorCode::kInvalidArgument, {"too many ranks"},
               [] { parse_topology("99999@1us,1GB/s x 99999@1us,1GB/s"); });
}

// Four ranks share a card of 10 GB/s.
TEST(Topology, FlatLevelSharesTheCardsOfTheOutermost) {
  const Level flat = flat_level(parse_topology("4@1us,35GB/s x 64@5us,10GB/s"));
  EXPECT_EQ(flat.size, 256);
  EXPECT_EQ(flat.latency, 5e-6);
  EXPECT_NEAR(1 / flat.seconds_per_byte, 2.5e9, 1);
  const Topology one = parse_topology("8@5us,10GB/s");
  EXPECT_EQ(flat_level(one), one.levels[0]);
}

}  // namespace
}  // namespace weft::topology_test
