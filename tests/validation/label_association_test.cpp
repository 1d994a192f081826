#include "weft/validation/label_association.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/validation/tables.h"

#include "weft/base/philox.h"
#include "weft/validation/report_json.h"
#include "weft/validation/report_page.h"

namespace weft::label_association_test {
namespace {

using namespace validation;
using test::summary_of_table;

StatisticsSummary labelled(const std::string& table,
                           StatisticsOptions options = {}) {
  options.label = "y";
  return summary_of_table(table, options);
}

const LabelAssociation& of(const StatisticsSummary& data,
                           const std::string& feature) {
  for (const LabelAssociation& each : data.associations) {
    if (each.feature == feature) return each;
  }
  throw std::runtime_error(feature + " is not there");
}

// `count` rows of each cell of a two by two table.
std::string cells(int aa, int ab, int ba, int bb) {
  std::string text = "x,y\n";
  const auto add = [&](int count, const char* row) {
    for (int i = 0; i < count; ++i) text += row;
  };
  add(aa, "a,no\n");
  add(ab, "a,yes\n");
  add(ba, "b,no\n");
  add(bb, "b,yes\n");
  return text;
}

TEST(LabelAssociation, IsWhatTheFormulaSays) {
  // H(Y) = 1 bit; I = 1 - H(0.8).
  const StatisticsSummary data = labelled(cells(40, 10, 10, 40));
  const LabelAssociation& x = of(data, "x");
  const double entropy = -0.8 * std::log2(0.8) - 0.2 * std::log2(0.2);
  EXPECT_NEAR(x.bits, 1 - entropy, 1e-12);
  EXPECT_NEAR(x.share, 1 - entropy, 1e-12);
  EXPECT_NEAR(x.by_chance, 1 / (200 * std::log(2)), 1e-12);
  ASSERT_EQ(x.lifts.size(), 4u);
  EXPECT_NEAR(x.lifts[0].lift, 1.6, 1e-12);
  EXPECT_EQ(x.lifts[0].value, "'a'");
  EXPECT_EQ(x.lifts[0].label, "no");
  EXPECT_EQ(x.lifts[0].count, 40u);
  EXPECT_NEAR(x.lifts[3].lift, 0.4, 1e-12);
}

TEST(LabelAssociation, IsNothingOfWhatIsIndependentAndAllOfACopy) {
  EXPECT_EQ(of(labelled(cells(20, 20, 30, 30)), "x").bits, 0);
  const LabelAssociation copy = of(labelled(cells(50, 0, 0, 50)), "x");
  EXPECT_NEAR(copy.bits, 1, 1e-12);
  EXPECT_NEAR(copy.share, 1, 1e-12);
  // A label of one value has nothing to be known of.
  EXPECT_EQ(of(labelled(cells(5, 0, 5, 0)), "x").share, 0);
}

TEST(LabelAssociation, CountsWhatIsMissingAsAValue) {
  std::string text = "x,y\n";
  for (int i = 0; i < 20; ++i) text += i % 2 == 0 ? ",no\n" : "a,yes\n";
  const LabelAssociation x = of(labelled(text), "x");
  EXPECT_NEAR(x.bits, 1, 1e-12);
  EXPECT_NEAR(x.lifts[0].lift, 2, 1e-12);
}

TEST(LabelAssociation, PutsNumbersIntoBins) {
  // The label says whether a number of 10,000 is above the median, or the
  // number has nothing to do with it.
  std::string text = "x,other,y\n";
  const RandomStream random{.seed = 3};
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const std::uint32_t x = random.word(2 * i) % 100000;
    text += fmt::format("{},{},{}\n", x, random.word(2 * i + 1) % 100000,
                        x < 50000 ? "low" : "high");
  }
  const StatisticsSummary data = labelled(text, {.exact_values = 256});
  // The bin around the median may have some of both.
  EXPECT_GT(of(data, "x").bits, 0.93);
  EXPECT_EQ(data.associations[0].feature, "x");
  const LabelAssociation& other = of(data, "other");
  EXPECT_LT(other.bits, 0.01);
  EXPECT_GT(other.bits, 0);
  EXPECT_NEAR(other.by_chance, 9 / (2 * 10000 * std::log(2)), 1e-9);
  EXPECT_TRUE(of(data, "x").lifts[0].value.find("…") != std::string::npos ||
              of(data, "x").lifts[0].value.starts_with("≤") ||
              of(data, "x").lifts[0].value.starts_with('>'));
}

TEST(LabelAssociation, LeavesTextsOutThatAreTooMany) {
  std::string text = "x,z,y\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("t{},a,{}\n", i, i % 2);
  const StatisticsSummary data = labelled(text, {.exact_values = 16});
  ASSERT_EQ(data.associations.size(), 1u);
  EXPECT_EQ(data.associations[0].feature, "z");
}

TEST(LabelAssociation, IsTheSameOfParts) {
  const std::string table = cells(40, 10, 10, 40);
  StatisticsOptions options{.label = "y"};
  Statistics whole(options);
  Statistics first(options);
  Statistics second(options);
  CsvRows rows(table, "test.csv", "yes");
  ColumnBatch batch;
  while (rows.next(batch)) {
    whole.add(batch);
    for (std::int64_t i = 0; i < batch.rows; ++i) {
      const ColumnBatch row = select_rows(batch, std::span(&i, 1));
      (i % 3 == 0 ? first : second).add(row);
    }
  }
  second.merge(Statistics::from_bytes(first.to_bytes(), "first"));
  EXPECT_EQ(to_json(summarize(second))["label"],
            to_json(summarize(whole))["label"]);
}

TEST(LabelAssociation, ShowsItsSlicesOnlyWhereTheyAreAskedFor) {
  const std::string table = cells(4, 1, 1, 4);
  EXPECT_EQ(labelled(table).slices.size(), 0u);
  EXPECT_EQ(labelled(table, {.slices = {"y"}}).slices.size(), 2u);
  EXPECT_EQ(labelled(table, {.slices = {"x"}}).slices.size(), 2u);
  const StatisticsSummary data = labelled(cells(40, 10, 10, 40));
  const std::string page = html_of({.title = "t", .data = data});
  EXPECT_NE(page.find("What features say of y"), std::string::npos);
  EXPECT_NE(page.find("1.6 × no"), std::string::npos);
}

}  // namespace
}  // namespace weft::label_association_test
