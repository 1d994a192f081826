#include "weft/validation/statistics.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "tests/support/errors.h"

#include "weft/base/philox.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/sim.h"
#include "weft/validation/csv_rows.h"
#include "weft/validation/reduction.h"
#include "weft/validation/report_json.h"
#include "weft/validation/summary.h"

namespace weft::statistics_test {
namespace {

using namespace validation;

Statistics statistics_of_csv(const std::string& text,
                             StatisticsOptions options = {}) {
  CsvRows rows(text, "test.csv", "yes");
  Statistics statistics(std::move(options));
  ColumnBatch batch;
  while (rows.next(batch)) statistics.add(batch);
  return statistics;
}

StatisticsSummary summary_of_csv(const std::string& text,
                                 StatisticsOptions options = {}) {
  return summarize(statistics_of_csv(text, std::move(options)));
}

// Rows of a small and a large integer, a number, a text, and gaps.
std::vector<std::string> random_rows(std::size_t count, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t word = random.word(2 * i);
    rows.push_back(
        fmt::format("{},{},{},{}\n", word % 7, word,
                    uniform_from(random.word(2 * i + 1)) * 100 - 50,
                    word % 5 == 0 ? "" : std::string(word % 3, 'a') + "x"));
  }
  return rows;
}

std::string csv_of(const std::vector<std::string>& rows, std::size_t begin,
                   std::size_t end) {
  std::string text = "small,large,number,text\n";
  for (std::size_t i = begin; i < end; ++i) text += rows[i];
  return text;
}

TEST(Statistics, CountWhatWasWorkedOutByHand) {
  const StatisticsSummary data = summary_of_csv(
      "n,x,s\n1,0.5,a\n2,nan,b\n3,-inf,\n4,1.5,a\n-4,0,\"c,\"\"d\"\"\"\n");
  ASSERT_EQ(data.rows, 5u);
  const FeatureSummary& n = *data.find("n");
  EXPECT_EQ(n.type, ValueType::kInt);
  EXPECT_EQ(n.present, 5u);
  EXPECT_EQ(n.numbers->least, -4);
  EXPECT_EQ(n.numbers->most, 4);
  EXPECT_DOUBLE_EQ(n.numbers->mean, 1.2);
  // (1 + 4 + 9 + 16 + 16) / 5 - 1.2² = 7.76.
  EXPECT_NEAR(n.numbers->std, std::sqrt(7.76), 1e-12);
  EXPECT_EQ(n.numbers->median, 2);
  const FeatureSummary& x = *data.find("x");
  EXPECT_EQ(x.type, ValueType::kFloat);
  EXPECT_EQ(x.numbers->nans, 1u);
  EXPECT_EQ(x.numbers->negative_infinities, 1u);
  EXPECT_EQ(x.numbers->zeros, 1u);
  EXPECT_EQ(x.numbers->finite, 3u);
  EXPECT_NEAR(x.numbers->mean, 2.0 / 3, 1e-15);
  const FeatureSummary& s = *data.find("s");
  EXPECT_EQ(s.type, ValueType::kString);
  EXPECT_EQ(s.missing(), 1u);
  EXPECT_EQ(s.distinct, 3);
  EXPECT_EQ(s.counts[0].text, "a");
  EXPECT_EQ(s.counts[0].count, 2u);
  EXPECT_EQ(s.counts[2].text, "c,\"d\"");
  EXPECT_DOUBLE_EQ(s.mean_bytes, (1 + 1 + 1 + 5) / 4.0);
}

TEST(Statistics, KeepIntegersOfAllBits) {
  const StatisticsSummary data = summary_of_csv(
      "n\n-9223372036854775808\n9223372036854775807\n9007199254740993\n");
  const FeatureSummary& n = *data.find("n");
  EXPECT_EQ(n.type, ValueType::kInt);
  EXPECT_EQ(n.numbers->least, -9223372036854775808.0L);
  EXPECT_EQ(n.numbers->most, 9223372036854775807.0L);
}

TEST(Statistics, TakeNumbersAtTheEndsOfDoubles) {
  const StatisticsSummary data =
      summary_of_csv("x\n1e308\n-1e308\n1e-308\n1e999\n1e-999\n");
  const FeatureSummary& x = *data.find("x");
  EXPECT_EQ(x.type, ValueType::kFloat);
  EXPECT_EQ(x.numbers->finite, 4u);
  EXPECT_EQ(x.numbers->positive_infinities, 1u);
  EXPECT_EQ(x.numbers->zeros, 1u);
  // Its moments pass all doubles, which no report may choke on.
  EXPECT_NO_THROW(to_json(data).dump());
}

// Exact counts do not depend on where the data were cut, to the last bit.
TEST(Statistics, AreTheSameForAnyPartition) {
  const auto rows = random_rows(3000, 1);
  const Statistics whole = statistics_of_csv(csv_of(rows, 0, rows.size()));
  for (const std::size_t cut : {0, 1, 1499, 2999, 3000}) {
    const Statistics first = statistics_of_csv(csv_of(rows, 0, cut));
    const Statistics second = statistics_of_csv(csv_of(rows, cut, rows.size()));
    Statistics forwards = first;
    forwards.merge(second);
    Statistics backwards = second;
    backwards.merge(first);
    EXPECT_EQ(forwards.rows(), rows.size());
    // All values are different, and still few enough to count.
    EXPECT_EQ(to_json(summarize(forwards)), to_json(summarize(whole)));
    EXPECT_EQ(to_json(summarize(backwards)), to_json(summarize(whole)));
  }
}

TEST(Statistics, OfManyValuesAreTheSameWithinTheirBounds) {
  const auto rows = random_rows(40000, 2);
  std::vector<double> numbers;
  std::set<std::string> distinct;
  for (const std::string& row : rows) {
    const std::size_t begin = row.find(',') + 1;
    const std::string large = row.substr(begin, row.find(',', begin) - begin);
    numbers.push_back(std::stod(large));
    distinct.insert(large);
  }
  std::ranges::sort(numbers);
  const auto check = [&](const Statistics& statistics) {
    const StatisticsSummary data = summarize(statistics);
    const FeatureSummary& large = *data.find("large");
    EXPECT_FALSE(large.is_exact);
    EXPECT_EQ(large.present, rows.size());
    EXPECT_EQ(large.numbers->least, numbers.front());
    EXPECT_EQ(large.numbers->most, numbers.back());
    double mean = 0;
    for (const double each : numbers) mean += each / 40000;
    EXPECT_NEAR(large.numbers->mean / mean, 1, 1e-12);
    const double size = static_cast<double>(distinct.size());
    EXPECT_NEAR(large.distinct, size, 0.05 * size);
    const auto& buckets = large.numbers->quantiles.buckets;
    for (std::size_t i = 0; i + 1 < buckets.size(); ++i) {
      const auto rank =
          std::ranges::upper_bound(numbers, buckets[i].high) - numbers.begin();
      EXPECT_NEAR(static_cast<double>(rank) / 40000,
                  static_cast<double>(i + 1) / 10, 0.01);
    }
    // The error that is told bounds every count.
    EXPECT_LE(large.error, 2 * rows.size() / 4096);
    // What has few values beside it stays exact.
    EXPECT_TRUE(data.find("small")->is_exact);
  };
  Statistics whole = statistics_of_csv(csv_of(rows, 0, rows.size()));
  check(whole);
  Statistics parts;
  for (std::size_t i = 0; i < 16; ++i) {
    parts.merge(statistics_of_csv(csv_of(rows, 2500 * i, 2500 * (i + 1))));
  }
  check(parts);
  EXPECT_EQ(to_json(summarize(parts))["features"][0],
            to_json(summarize(whole))["features"][0]);
}

TEST(Statistics, NothingChangesNothing) {
  const Statistics data = statistics_of_csv("a,b\n1,x\n2,\n");
  Statistics left = data;
  left.merge(Statistics());
  Statistics right;
  right.merge(data);
  EXPECT_EQ(left.to_bytes(), data.to_bytes());
  EXPECT_EQ(right.to_bytes(), data.to_bytes());
}

TEST(Statistics, AreReadBackFromTheirBytes) {
  StatisticsOptions options{.weight = "small", .slices = {"text"}};
  const auto rows = random_rows(9000, 3);
  const Statistics data =
      statistics_of_csv(csv_of(rows, 0, rows.size()), options);
  const std::string bytes = data.to_bytes();
  const Statistics again = Statistics::from_bytes(bytes, "test");
  EXPECT_EQ(again.to_bytes(), bytes);
  EXPECT_EQ(to_json(summarize(again)), to_json(summarize(data)));
  // Whatever is cut off or changed is noticed.
  for (std::size_t cut = 0; cut < 200; ++cut) {
    EXPECT_THROW(Statistics::from_bytes(bytes.substr(0, cut), "test"), Error);
  }
  for (const std::size_t place : {3, 20, 40, 1000}) {
    std::string damaged = bytes;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    EXPECT_THROW(Statistics::from_bytes(damaged, "test"), Error);
  }
}

TEST(Statistics, RefuseLengthsThatDoNotAddUp) {
  const auto read = [](const auto& change) {
    ListLengths lengths;
    lengths.add(2, 3);
    lengths.add(5, 1);
    change(lengths);
    StateWriter out;
    lengths.write(out);
    const std::string bytes = out.take();
    StateReader in(bytes, "test");
    return ListLengths::read(in);
  };
  EXPECT_EQ(read([](ListLengths&) {}).total, 11u);
  const auto refusal = [&](const auto& change) {
    return test::message_of([&] { read(change); });
  };
  const auto reason = ::testing::HasSubstr("lengths of lists do not add up");
  EXPECT_THAT(refusal([](ListLengths& l) { l.total = 7; }), reason);
  EXPECT_THAT(refusal([](ListLengths& l) { l.total = 21; }), reason);
  EXPECT_THAT(refusal([](ListLengths& l) { l.total = ~0ull >> 1; }), reason);
  EXPECT_THAT(refusal([](ListLengths& l) { l.least = -1; }), reason);
  EXPECT_THAT(refusal([](ListLengths& l) { l.most = 2; }), reason);
}

TEST(Statistics, WeighRows) {
  const StatisticsSummary data =
      summary_of_csv("w,x,s\n1,10,a\n3,20,b\n0,30,a\n2,,b\n", {.weight = "w"});
  EXPECT_EQ(*data.weight, 6);
  const FeatureSummary& x = *data.find("x");
  EXPECT_DOUBLE_EQ(*x.weighted_share, 4.0 / 6);
  EXPECT_DOUBLE_EQ(*x.numbers->weighted_mean, (10 + 60) / 4.0);
  EXPECT_EQ(data.find("s")->counts[0].weight, 1);  // a
  EXPECT_EQ(data.find("s")->counts[1].weight, 5);  // b
  EXPECT_THROW(summary_of_csv("w\n-1\n", {.weight = "w"}), Error);
  EXPECT_THROW(summary_of_csv("w\nx\n", {.weight = "w"}), Error);
  EXPECT_THROW(summary_of_csv("w\n1\n", {.weight = "v"}), Error);
}

TEST(Statistics, SliceByValues) {
  const StatisticsSummary data =
      summary_of_csv("sex,age\nm,20\nf,30\nm,40\n,50\n", {.slices = {"sex"}});
  ASSERT_EQ(data.slices.size(), 3u);
  EXPECT_EQ(data.slices[0].key, "sex is missing");
  EXPECT_EQ(data.slices[1].key, "sex=f");
  EXPECT_EQ(data.slices[2].summary.rows, 2u);
  EXPECT_EQ(data.slices[2].summary.find("age")->numbers->mean, 30);
}

TEST(Statistics, TakeAMillionDifferentValuesInLittleMemory) {
  std::string text = "id\n";
  for (int i = 0; i < 1'000'000; ++i) text += fmt::format("key-{}\n", i);
  const Statistics statistics = statistics_of_csv(text);
  EXPECT_LT(statistics.to_bytes().size(), std::size_t{1} << 19);
  const StatisticsSummary data = summarize(statistics);
  EXPECT_NEAR(data.find("id")->distinct, 1e6, 5e4);
  EXPECT_FALSE(data.find("id")->is_exact);
}

TEST(Statistics, CountFrequentValuesWithinTheErrorThatTheyTell) {
  // A value in every third row, among values that never come twice.
  std::string text = "s\n";
  for (int i = 0; i < 60000; ++i) {
    text += i % 3 == 0 ? "often\n" : fmt::format("once{}\n", i);
  }
  const StatisticsSummary data = summary_of_csv(text);
  const FeatureSummary& s = *data.find("s");
  EXPECT_EQ(s.counts[0].text, "often");
  EXPECT_LE(s.counts[0].count, 20000u);
  EXPECT_GE(s.counts[0].count + s.error, 20000u);
}

TEST(Statistics, OfAllRanksAreThoseOfOne) {
  const auto rows = random_rows(6000, 4);
  const std::string expected =
      to_json(summarize(statistics_of_csv(csv_of(rows, 0, rows.size()),
                                          {.exact_values = 8192})))
          .dump();
  for (const int ranks : {1, 2, 3, 5, 8}) {
    std::vector<std::string> found(static_cast<std::size_t>(ranks));
    SimWorld world(Topology{{{ranks, 1e-6, 1e-9}}},
                   {.most_delay = 1e-5, .seed = 3});
    world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      const auto rank = static_cast<std::size_t>(transport.rank());
      const auto count = static_cast<std::size_t>(ranks);
      Statistics own =
          statistics_of_csv(csv_of(rows, rows.size() * rank / count,
                                   rows.size() * (rank + 1) / count),
                            {.exact_values = 8192});
      const Channel channel = all.open({"statistics", ""});
      co_await reduce_statistics(channel, own);
      found[rank] = to_json(summarize(own)).dump();
    });
    for (const std::string& each : found) EXPECT_EQ(each, expected);
  }
}

}  // namespace
}  // namespace weft::statistics_test
