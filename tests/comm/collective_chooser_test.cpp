#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/file.h"
#include "weft/comm/collective/calibration.h"
#include "weft/comm/collective/chooser.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/sim.h"
#include "weft/comm/transport/thread.h"

namespace weft::collective_chooser_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kCluster = "4@5us,35GB/s x 64@5us,10GB/s";

// The published comparison, in milliseconds, by the same model; but for the
// ring, of which ranks inside of machines run ahead: 22.5 in lockstep.
TEST(AllReduceCost, IsThatOfTheModel) {
  const Topology cluster = parse_topology(kCluster);
  const auto ms = [&](const char* text, double bytes) {
    return AllReduce(text).seconds(cluster, bytes) * 1e3;
  };
  EXPECT_NEAR(ms("ring", 64e3), 2.56, 0.01);
  EXPECT_NEAR(ms("ring", 100e6), 19.9, 0.1);
  EXPECT_NEAR(ms("rabenseifner(order=far)", 100e6), 78.9, 0.1);
  EXPECT_NEAR(ms("rabenseifner(order=near)", 64e3), 0.095, 0.001);
  EXPECT_NEAR(ms("rabenseifner(order=near)", 100e6), 24.1, 0.6);
  EXPECT_NEAR(ms("leaders(group=4)", 100e6), 28.9, 0.1);
  EXPECT_NEAR(ms("blueconnect(factors=[4, 64])", 64e3), 0.68, 0.01);
  EXPECT_NEAR(ms("blueconnect(factors=[4, 64])", 100e6), 24.6, 0.1);
}

TEST(AllReduceChooser, TakesTheRingAmongThoseThatAreAlike) {
  AllReduceChooser slow(parse_topology("4@50us,1195500B/s"));
  EXPECT_EQ(slow.choose(270'000).name(), "ring");
  AllReduceChooser fast(parse_topology("4@50us,120MB/s"));
  EXPECT_NE(fast.choose(270'000).name(), "ring");
}

// What is chosen, as it runs on the simulated network, against the usual ones
// as they run there: the model that chooses has no part in the comparison.
TEST(AllReduceChooser, IsAsFastAsTheUsualFactorizationsWhereItRuns) {
  const Topology topology = parse_topology("4@5us,35GB/s x 8@5us,10GB/s");
  const auto runs = [&](const AllReduce& algorithm, std::size_t count) {
    SimWorld world(topology, {.carries_payload = false});
    return world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      const PreparedAllReduce sum = algorithm.prepare(all, DType::kF32, count);
      co_await sum.run(nullptr);
    });
  };
  AllReduceChooser chooser(topology);
  for (const std::size_t bytes :
       {std::size_t{1} << 12, std::size_t{1} << 18, std::size_t{1} << 24}) {
    const double chosen = runs(chooser.choose(bytes), bytes / 4);
    for (const char* text :
         {"ring", "doubling", "rabenseifner", "leaders(4)",
          "blueconnect([4, 8])", "blueconnect([2, 2, 2, 2, 2])"}) {
      EXPECT_LE(chosen, 1.1 * runs(AllReduce(text), bytes / 4))
          << text << " of " << bytes << ", " << chooser.choose(bytes).text();
    }
  }
  // A hierarchy is what makes the difference between these.
  EXPECT_LT(1.3 * runs(AllReduce("blueconnect([4, 8])"), 1 << 22),
            runs(AllReduce("leaders(4)"), 1 << 22));
}

// Groups of 8 by halving are steps of 2 in another dress, which rounding alone
// would prefer or not.
TEST(AllReduceChooser, TakesTheFirstOfEquals) {
  AllReduceChooser chooser(parse_topology("64@5us,10GB/s"));
  EXPECT_EQ(chooser.choose(1 << 16).text(),
            "blueconnect(factors=[2, 2, 2, 2, 2, 2])");
}

// Inside of machines one latency is enough, where halving has two of them.
TEST(AllReduceChooser, TakesForEachLevelTheStageThatSuitsIt) {
  AllReduceChooser chooser(parse_topology(kCluster));
  EXPECT_EQ(
      chooser.choose(1 << 16).text(),
      "blueconnect(factors=[4, 2, 2, 2, 2, 2, 2], stage=[direct, halving, "
      "halving, halving, halving, halving, halving])");
}

// Two ranks send as many bytes either way, but halves are added in half the
// time.
TEST(AllReduceChooser, HalvesLargeVectorsOfTwoRanks) {
  AllReduceChooser chooser(parse_topology("2@500ns,6GB/s"));
  const auto seconds = [&](const char* text, double bytes) {
    return AllReduce(text).seconds(chooser.topology(), bytes);
  };
  EXPECT_NEAR(seconds("doubling", 6e6) - seconds("ring", 6e6),
              3e6 / 5e9 - 500e-9, 1e-12);
  EXPECT_EQ(seconds("doubling", 6e6), seconds("direct", 6e6));
  EXPECT_LT(seconds("direct", 1e3), seconds("ring", 1e3));
  EXPECT_EQ(chooser.choose(1000).text(), "direct");
  EXPECT_NE(chooser.choose(66'000'000).text(), "doubling");
  EXPECT_NE(chooser.choose(66'000'000).text(), "direct");
}

TEST(AllReduceChooser, ExplainsWhatItPredicts) {
  AllReduceChooser chooser(parse_topology("2@1us,10GB/s x 2@50us,1GB/s"));
  const std::string table = chooser.explain(1 << 20, 1000);
  EXPECT_THAT(table, HasSubstr("1048576 bytes over 2@1us,10GB/s"));
  for (const AllReduceDef& def : all_reduce_registry().all()) {
    EXPECT_THAT(table, HasSubstr("  " + def.name));
  }
  // The first line of the table is what is chosen.
  EXPECT_LT(table.find(chooser.choose(1 << 20).text()), 120u);
}

TEST(Placement, PutsTheRanksOfAHostSideBySide) {
  const std::vector<std::string> hosts = {"b", "a", "b", "a"};
  const Placement placement = placement_of(hosts);
  EXPECT_THAT(placement.order.list(), ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(placement.ranks_per_host, 2);
  EXPECT_EQ(placement.hosts, 2);
  EXPECT_EQ(placement.flat_because, "");
}

TEST(Placement, OfUnequalHostsIsFlatWithTheReason) {
  const std::vector<std::string> hosts = {"a", "a", "b"};
  EXPECT_EQ(placement_of(hosts).flat_because,
            "host a has 2 ranks and host b has 1");
}

TEST(Calibration, FitsALineByRelativeError) {
  const std::vector<Timing> timings = {
      {8, 5e-6 + 8e-9}, {1e4, 15e-6}, {1e6, 1.005e-3}};
  const Level level = fit_level(4, timings);
  EXPECT_NEAR(level.latency, 5e-6, 1e-10);
  EXPECT_NEAR(level.seconds_per_byte, 1e-9, 1e-13);
  const Level descending = fit_level(2, std::vector<Timing>{{8, 2}, {800, 1}});
  EXPECT_EQ(descending.seconds_per_byte, 0);
  EXPECT_GT(descending.latency, 1);
}

TEST(Calibration, FindsTheSimulatedNetwork) {
  const Topology cluster = parse_topology("2@3us,20GB/s x 3@8us,5GB/s");
  SimWorld world(cluster);
  std::vector<Topology> found(6);
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    Topology topology = co_await calibrate(all, placement_of(all));
    found[static_cast<std::size_t>(transport.rank())] = topology;
  });
  for (const Topology& topology : found) {
    EXPECT_EQ(to_string(topology), to_string(cluster));
  }
}

// Messages of up to the bucket pass at once, and only what is sent without a
// pause shows the rate.
TEST(Calibration, FindsTheRateBehindATokenBucket) {
  SimWorld world(parse_topology("3@50us,100Mbit/s"), {.burst_bytes = 2 << 20});
  std::vector<Topology> found(3);
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    Topology topology = co_await calibrate(all, placement_of(all));
    found[static_cast<std::size_t>(transport.rank())] = topology;
  });
  EXPECT_NEAR(found[0].levels[0].seconds_per_byte, 8e-8, 2e-9);
  EXPECT_NEAR(found[0].levels[0].latency, 50e-6, 5e-6);
  for (const Topology& topology : found) EXPECT_EQ(topology, found[0]);
}

// The smallest message alone takes longer than may be measured, and one size
// is no line.
TEST(Calibration, FindsASlowNetworkOfManyRanks) {
  const Topology cluster = parse_topology("300@50ms,1MB/s");
  SimWorld world(cluster);
  std::string found;
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Topology topology = co_await calibrate(all, placement_of(all));
    if (transport.rank() == 0) found = to_string(topology);
  });
  EXPECT_EQ(found, to_string(cluster));
}

TEST(Calibration, AllRanksOfRealThreadsAgree) {
  ThreadWorld world(4, {.hosts = {"a", "b", "a", "b"}});
  std::vector<Topology> found(4);
  world.run([&](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    const auto body = [&]() -> Task<> {
      Topology topology = co_await calibrate(all, placement_of(all));
      found[static_cast<std::size_t>(transport.rank())] = topology;
    };
    engine.run(body());
  });
  ASSERT_EQ(found[0].levels.size(), 2u);
  for (const Topology& topology : found) EXPECT_EQ(topology, found[0]);
}

TEST(Calibration, FilesAreReadBack) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("damaged", "4@5us\n");
  test::expect_error(ErrorCode::kInvalidArgument, {"',' expected"},
                     [&] { read_topology(path); });
  const Topology cluster = parse_topology(kCluster);
  const std::string whole = folder.write("whole", to_string(cluster) + "\n");
  EXPECT_EQ(read_topology(whole), cluster);
}

}  // namespace
}  // namespace weft::collective_chooser_test
