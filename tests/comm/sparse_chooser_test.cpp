#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include "weft/comm/sparse/chooser.h"
#include "weft/comm/sparse/fill.h"
#include "weft/comm/transport/sim.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr SumRates kFree{0, 0, 0, 0, 0, 0};
const Level kFast{1, 2e-6, 1 / 10e9};

// `count` items, `stride` apart.
Stream items_at(std::uint64_t size, std::uint32_t count, std::uint32_t first,
                std::uint32_t stride) {
  std::vector<std::uint32_t> indices(count);
  for (std::uint32_t i = 0; i < count; ++i) indices[i] = first + i * stride;
  return Stream::of<std::uint32_t, float>(size, indices,
                                          std::vector<float>(count, 1));
}

std::string pick(double density, int ranks, double quantized_bytes = 0) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 24;
  const SparseChooser chooser({DType::kF32, kSize}, ranks, kFast, kFree);
  const SparseChoice choice =
      chooser.choose(density * static_cast<double>(kSize), quantized_bytes);
  return choice.algorithm->name + (choice.is_quantized ? ", quantized" : "");
}

TEST(SparseChooser, TakesTheRegimesOfThePaper) {
  EXPECT_EQ(pick(1e-2, 32), "split_allgather");
  EXPECT_EQ(pick(1e-1, 32), "dsar");
  EXPECT_EQ(pick(1e-1, 32, 0.5), "dsar, quantized");
  EXPECT_EQ(pick(1, 32), "dense");
  // Where latency decides, whole streams: they take the fewest messages.
  const SparseChooser slow({DType::kF32, 1 << 24}, 32, {1, 1e-3, 1e-9}, kFree);
  EXPECT_EQ(slow.choose(100).algorithm->name, "recursive_double");
}

TEST(SparseChooser, PricesAreThoseOfTheFormulas) {
  // The network-only times for P = 32, 10 GB/s, 2 us, k/N = 1 %, in ms.
  const SparseChooser chooser({DType::kF32, 1 << 24}, 32, kFast, kFree);
  const SparseWorkload workload = chooser.expect(0.01 * (1 << 24));
  const auto milliseconds = [&](const char* name) {
    return 1e3 *
           sparse_all_reduce_registry().get(name).cost(workload).seconds(kFast);
  };
  EXPECT_NEAR(workload.result_items / (1 << 24), 0.275, 0.001);
  EXPECT_NEAR(milliseconds("dense"), 13.0, 0.1);
  EXPECT_NEAR(milliseconds("recursive_double"), 4.0, 0.1);
  EXPECT_NEAR(milliseconds("split_allgather"), 3.8, 0.1);
  EXPECT_NEAR(milliseconds("dsar"), 6.7, 0.1);
  EXPECT_NEAR(milliseconds("gather_pairs"), 4.2, 0.1);
}

TEST(SparseChooser, DsarAloneIsAtMostTwiceAsFastAsDense) {
  const SparseChooser chooser({DType::kF32, 1 << 24}, 8, {1, 0, 1e-9}, kFree);
  const auto& registry = sparse_all_reduce_registry();
  for (const double items : {1., 1e3, 1e5, 1e7}) {
    const SparseWorkload workload = chooser.expect(items);
    EXPECT_GE(2.0000001 * registry.get("dsar").cost(workload).bytes,
              registry.get("dense").cost(workload).bytes);
  }
}

TEST(SparseChooser, LearnsFromResults) {
  constexpr std::uint64_t kSize = 1 << 20;
  SparseChooser chooser({DType::kF32, kSize}, 16, kFast, kFree);
  EXPECT_NEAR(chooser.expect(1000).result_items,
              expected_items(kSize, 1000, 16), 1e-6);
  // All supports were the same, and in the first partition.
  chooser.observe(items_at(kSize, 1000, 0, 1));
  EXPECT_NEAR(chooser.expect(1000).result_items, 1000, 1e-6);
  EXPECT_NEAR(chooser.expect(1000).skew, 16, 1e-6);
  // Then they spread: the average moves by a quarter.
  chooser.observe(items_at(kSize, 5000, 0, kSize / 5000));
  EXPECT_NEAR(chooser.expect(1000).result_items, 2000, 1e-6);
  EXPECT_NEAR(chooser.expect(1000).skew, 0.75 * 16 + 0.25, 0.1);
}

TEST(SparseChooser, CountsWhatIsNotZeroInADenseSum) {
  SparseChooser chooser({DType::kF32, 100}, 2, kFast, kFree);
  std::vector<float> values(100);
  std::fill_n(values.begin(), 60, 1.f);
  chooser.observe(Stream::of_dense(std::span<const float>(values)));
  EXPECT_NEAR(chooser.expect(40).result_items, 60, 1e-9);
}

TEST(SparseChooser, ExplainsItself) {
  const SparseChooser chooser({DType::kF32, 1 << 20}, 16, kFast);
  const std::string text = chooser.choose(1000, 0.5).explanation;
  EXPECT_THAT(text, HasSubstr("16 ranks, 1000 of 1048576 items each"));
  EXPECT_THAT(text, HasSubstr("-> split_allgather"));
  EXPECT_THAT(text, HasSubstr("dsar, quantized"));
  for (const auto& algorithm : sparse_all_reduce_registry().all()) {
    EXPECT_THAT(text, HasSubstr(algorithm.name));
  }
}

// --- Against simulated ranks ----------------------------------------------

struct Measured {
  double seconds = 0;
  std::int64_t least_bytes = INT64_MAX;  // sent by a rank
  std::int64_t most_bytes = 0;
};

Measured simulate(const std::string& name, const std::vector<Stream>& streams,
                  const SumRates& rates) {
  const int ranks = static_cast<int>(streams.size());
  SimWorld world({{{ranks, kFast.latency, kFast.seconds_per_byte}}});
  const auto& algorithm = sparse_all_reduce_registry().get(name);
  const SparseOptions options{.rates = rates};
  const auto run_rank = [&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const OperationInfo info{"sparse_all_reduce", name};
    const Channel channel = all.open(info);
    Stream stream = streams[static_cast<std::size_t>(transport.rank())].copy();
    co_await algorithm.run(channel, stream, options);
  };
  Measured result;
  result.seconds = world.run(run_rank);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t bytes = world.traffic(rank)[0].bytes;
    result.least_bytes = std::min(result.least_bytes, bytes);
    result.most_bytes = std::max(result.most_bytes, bytes);
  }
  return result;
}

// What P ranks send lies between the formulas' bounds, which are met where
// supports are equal and where they are disjoint.
TEST(SparseCosts, BytesSentAreInsideTheBounds) {
  constexpr int kRanks = 8;
  constexpr std::uint64_t kSize = 1 << 16;
  constexpr std::uint32_t kItems = 512;
  // 24 bytes a message and 8 a gathered one; 2 P messages at the most.
  constexpr double kHeaders = 2 * kRanks * 32;
  for (const bool is_disjoint : {false, true}) {
    std::vector<Stream> streams;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      streams.push_back(
          items_at(kSize, kItems, is_disjoint ? rank : 0, kSize / kItems));
    }
    const SparseWorkload workload{
        .ranks = kRanks,
        .type = {DType::kF32, kSize},
        .items = kItems,
        .result_items = kItems * (is_disjoint ? 1. * kRanks : 1.),
        .rates = kFree};
    for (const auto& algorithm : sparse_all_reduce_registry().all()) {
      const Measured measured = simulate(algorithm.name, streams, kFree);
      const SparseCost cost = algorithm.cost(workload);
      EXPECT_GE(static_cast<double>(measured.least_bytes), cost.least_bytes - 1)
          << algorithm.name;
      EXPECT_LE(static_cast<double>(measured.most_bytes),
                cost.most_bytes + kHeaders)
          << algorithm.name;
      // The formula takes disjoint supports for random ones.
      EXPECT_NEAR(static_cast<double>(measured.most_bytes), cost.bytes,
                  kHeaders + 0.05 * cost.bytes)
          << algorithm.name;
    }
  }
}

TEST(SparseCosts, SimulatedRanksAreChargedForSumming) {
  std::vector<Stream> streams;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    streams.push_back(items_at(1 << 16, 1000, rank, 64));
  }
  SumRates slow = kFree;
  slow.merge = 1e-3;
  const double fast = simulate("recursive_double", streams, kFree).seconds;
  // 2 * 1000 items, then 2 * 2000.
  EXPECT_NEAR(simulate("recursive_double", streams, slow).seconds - fast, 6,
              1e-3);
}

}  // namespace
}  // namespace weft
