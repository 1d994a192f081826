#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/comm/sparse/chooser.h"
#include "weft/comm/sparse/survey.h"
#include "weft/comm/transport/sim.h"

namespace weft::sparse_chooser_test {
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
  const SparseChoice choice = chooser.choose(
      Support::random(kSize, density * static_cast<double>(kSize)),
      quantized_bytes);
  return choice.algorithm->name + (choice.is_quantized ? ", quantized" : "");
}

TEST(SparseChooser, TakesTheRegimesOfThePaper) {
  EXPECT_EQ(pick(1e-2, 32), "split_allgather");
  EXPECT_EQ(pick(1e-1, 32), "dsar");
  EXPECT_EQ(pick(1e-1, 32, 0.5), "dsar, quantized");
  // Full contributions: no stream needs to be cleared and filled.
  const SparseChooser full({DType::kF32, 1 << 24}, 32, kFast);
  EXPECT_EQ(full.choose(Support::random(1 << 24, 1 << 24)).algorithm->name,
            "dense");
  // Where latency decides, whole streams: they take the fewest messages.
  const SparseChooser slow({DType::kF32, 1 << 24}, 32, {1, 1e-3, 1e-9}, kFree);
  EXPECT_EQ(slow.choose(Support::random(1 << 24, 100)).algorithm->name,
            "recursive_double");
}

TEST(SparseChooser, PricesAreThoseOfTheFormulas) {
  // The network-only times for P = 32, 10 GB/s, 2 us, k/N = 1 %, in ms.
  const SparseChooser chooser({DType::kF32, 1 << 24}, 32, kFast, kFree);
  const SparseWorkload workload =
      chooser.workload(Support::random(1 << 24, 0.01 * (1 << 24)));
  const auto milliseconds = [&](const char* name) {
    return 1e3 *
           sparse_all_reduce_registry().get(name).cost(workload, kFast).seconds;
  };
  EXPECT_NEAR(workload.support.sum_items(32) / (1 << 24), 0.275, 0.001);
  EXPECT_NEAR(milliseconds("dense"), 13.0, 0.1);
  EXPECT_NEAR(milliseconds("recursive_double"), 4.0, 0.1);
  EXPECT_NEAR(milliseconds("split_allgather"), 3.8, 0.1);
  EXPECT_NEAR(milliseconds("dsar"), 6.7, 0.1);
  EXPECT_NEAR(milliseconds("gather_pairs"), 4.2, 0.1);
}

TEST(SparseChooser, DsarAloneIsAtMostTwiceAsFastAsDense) {
  const Level network{1, 0, 1e-9};
  const SparseChooser chooser({DType::kF32, 1 << 24}, 8, network, kFree);
  const auto& registry = sparse_all_reduce_registry();
  for (const double items : {1., 1e3, 1e5, 1e7}) {
    const SparseWorkload workload =
        chooser.workload(Support::random(1 << 24, items));
    EXPECT_GE(2.0000001 * registry.get("dsar").cost(workload, network).bytes,
              registry.get("dense").cost(workload, network).bytes);
  }
}

TEST(SparseChooser, CutsWhereItemsAre) {
  constexpr std::uint64_t kSize = 1 << 24;
  const SparseChooser chooser({DType::kF32, kSize}, 16, kFast);
  const SparseChoice even = chooser.choose(Support::random(kSize, 1e5));
  EXPECT_EQ(even.partitions, Partitions::even(kSize, 16));
  const Support skewed = Support::skewed(kSize, 1e5);
  const SparseChoice cut = chooser.choose(skewed);
  EXPECT_EQ(cut.algorithm->name, "split_allgather");
  EXPECT_LT(cut.partitions.size(0), kSize / 64);
  SparseWorkload workload = chooser.workload(skewed);
  EXPECT_LT(cut.seconds, 0.6 * cut.algorithm->cost(workload, kFast).seconds);
}

TEST(SparseChooser, AsksOnlyWhereThatIsCheapBesideTheSum) {
  const SparseChooser chooser({DType::kF32, 1 << 24}, 8, {1, 50e-6, 1e-9});
  EXPECT_FALSE(chooser.should_survey(100));
  EXPECT_TRUE(chooser.should_survey(1e6));
}

TEST(SparseChooser, ExplainsItself) {
  const SparseChooser chooser({DType::kF32, 1 << 20}, 16, kFast);
  const std::string text =
      chooser.choose(Support::random(1 << 20, 1000), 0.5).explanation;
  EXPECT_THAT(text, HasSubstr("16 ranks, 1000 of 1048576 items each"));
  EXPECT_THAT(text, HasSubstr("-> split_allgather"));
  EXPECT_THAT(text, HasSubstr("dsar            , quantized"));
  for (const auto& algorithm : sparse_all_reduce_registry().all()) {
    EXPECT_THAT(text, HasSubstr(algorithm.name));
  }
}

// --- Supports --------------------------------------------------------------

TEST(Support, CountsTheItemsOfSumsByPart) {
  const Support support({{100, 50}, {300, 0}, {600, 6}});
  EXPECT_EQ(support.size(), 1000);
  EXPECT_EQ(support.items(), 56);
  EXPECT_NEAR(support.sum_items(4),
              expected_items(100, 50, 4) + expected_items(600, 6, 4), 1e-9);
  const auto parts = support.sum_items(4, Partitions({0, 50, 400, 1000}));
  EXPECT_EQ(parts[0], 0);
  EXPECT_NEAR(parts[1], expected_items(100, 50, 4) / 2, 1e-9);
  EXPECT_NEAR(parts[2], expected_items(100, 50, 4) / 2, 1e-9);
  EXPECT_NEAR(parts[3], expected_items(600, 6, 4), 1e-9);
}

TEST(Support, CutsByItemsOrByElements) {
  const Support support({{100, 50}, {900, 50}});
  EXPECT_EQ(support.cut(4, 0), Partitions({50, 100, 550, 1000}));
  EXPECT_EQ(support.cut(4, 1), Partitions::even(1000, 4));
  // Half of the weight: (0.1 + 0.5) / 2 lies in the first cell.
  EXPECT_EQ(support.cut(2, 0.5), Partitions({357, 1000}));
  EXPECT_EQ(Support::random(10, 0).cut(2, 0), Partitions::even(10, 2));
}

TEST(Support, SkewedHasHalfOfItsItemsInTheFirstQuarter) {
  const Support support = Support::skewed(1 << 20, 1000);
  EXPECT_NEAR(support.items(), 1000, 1e-9);
  EXPECT_EQ(support.size(), 1 << 20);
  const auto cut = support.cut(2, 0);
  EXPECT_EQ(cut.size(0), std::uint64_t{1} << 18);
}

// --- Surveys ---------------------------------------------------------------

// Item i of `count` lies at the place of the power law.
Stream power_law(std::uint64_t size, std::uint32_t count, double phase) {
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double share = (i + phase) / count;
    indices.push_back(
        static_cast<std::uint32_t>(share * share * static_cast<double>(size)));
  }
  const auto doubles = std::ranges::unique(indices);
  indices.erase(doubles.begin(), doubles.end());
  return Stream::of<std::uint32_t, float>(size, indices,
                                          std::vector<float>(indices.size()));
}

std::vector<Survey> survey_all(const std::vector<Stream>& streams) {
  const int ranks = static_cast<int>(streams.size());
  SimWorld world({{{ranks, kFast.latency, kFast.seconds_per_byte}}});
  std::vector<Survey> found(streams.size());
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const auto rank = static_cast<std::size_t>(transport.rank());
    const Channel channel = all.open({"survey", ""});
    found[rank] = co_await survey(channel, streams[rank]);
  });
  return found;
}

TEST(Survey, FindsTheSupportOfAllRanks) {
  constexpr std::uint64_t kSize = 1 << 20;
  constexpr int kRanks = 8;
  std::vector<Stream> streams;
  for (int rank = 0; rank < kRanks; ++rank) {
    streams.push_back(power_law(kSize, 4000, (rank + 0.5) / kRanks));
  }
  const auto found = survey_all(streams);
  for (const Survey& other : found) {
    EXPECT_EQ(other.support.cut(kRanks, 0), found[0].support.cut(kRanks, 0));
  }
  const Support& support = found[0].support;
  EXPECT_EQ(support.size(), kSize);
  EXPECT_NEAR(support.items(), 4000, 40);
  // Parts of equally many items end at the squares of 1/8, 2/8, …
  const Partitions cut = support.cut(kRanks, 0);
  for (int i = 0; i < kRanks; ++i) {
    const double expected = (i + 1) * (i + 1) / 64. * double{kSize};
    EXPECT_NEAR(static_cast<double>(cut.end(i)), expected, 0.02 * kSize);
  }
}

TEST(Survey, OfEmptyFewAndDenseContributions) {
  std::vector<Stream> streams;
  streams.emplace_back(StreamType{DType::kF32, 100});
  streams.push_back(items_at(100, 1, 42, 1));
  streams.push_back(Stream::dense_zeros({DType::kF32, 100}));
  const auto found = survey_all(streams);
  for (const Survey& survey : found) EXPECT_EQ(survey.most_items, 100u);
  EXPECT_NEAR(found[0].support.items(), 101 / 3., 1e-9);
  EXPECT_EQ(found[0].support.size(), 100);
}

TEST(SparseAllReduceByChoice, SumsWhateverIsKnown) {
  constexpr std::uint64_t kSize = 1 << 16;
  constexpr int kRanks = 5;
  std::vector<Stream> streams;
  std::vector<float> expected(kSize);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    streams.push_back(items_at(kSize, 100, rank, 3));
    for (std::uint32_t i = 0; i < 100; ++i) expected[rank + 3 * i] += 1;
  }
  for (const bool is_known : {false, true}) {
    SimWorld world({{{kRanks, kFast.latency, kFast.seconds_per_byte}}});
    world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      Stream stream =
          streams[static_cast<std::size_t>(transport.rank())].copy();
      const Channel channel = all.open({"sparse_all_reduce", "auto"});
      const SparseChooser chooser(stream.type(), kRanks, kFast);
      std::optional<std::uint64_t> items;
      if (is_known) items = 100;
      co_await sparse_all_reduce(channel, stream, chooser, {}, items);
      std::vector<float> values(kSize);
      stream.copy_to(std::span(values));
      EXPECT_EQ(values, expected);
    });
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
    // Equal supports fill the elements that they have.
    std::vector<Support::Cell> cells;
    for (int part = 0; part < kRanks && !is_disjoint; ++part) {
      constexpr std::int64_t kEach = kItems / kRanks;
      cells.push_back({kEach, kEach});
      cells.push_back({double{kSize - kItems} / kRanks, 0});
    }
    const SparseWorkload workload{
        .ranks = kRanks,
        .type = {DType::kF32, kSize},
        .support = is_disjoint ? Support::random(kSize, kItems)
                               : Support(std::move(cells)),
        .partitions = Partitions::even(kSize, kRanks),
        .rates = kFree};
    for (const auto& algorithm : sparse_all_reduce_registry().all()) {
      const Measured measured = simulate(algorithm.name, streams, kFree);
      const SparseCost cost = algorithm.cost(workload, kFast);
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
}  // namespace weft::sparse_chooser_test
