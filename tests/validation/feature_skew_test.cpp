#include "weft/validation/feature_skew.h"

#include <gtest/gtest.h>
#include <sstream>

#include "weft/validation/csv_rows.h"
#include "weft/validation/json_rows.h"

namespace weft::feature_skew_test {
namespace {

using namespace validation;

FeatureSkewReport skew_of(const std::string& base, const std::string& test,
                          FeatureSkewOptions options = {}) {
  options.identifiers = {"id"};
  CsvRows base_rows(base, "base", "yes");
  CsvRows test_rows(test, "test", "yes");
  return measure_feature_skew(base_rows, test_rows, options);
}

const FeatureSkew& feature_of(const FeatureSkewReport& report,
                              const std::string& name) {
  return *std::ranges::find(report.features, name, &FeatureSkew::name);
}

TEST(FeatureSkew, CountsWhatWasWorkedOutByHand) {
  const std::string base = "id,x\n1,5\n2,6\n3,\n";
  const std::string test = "id,x\n3,9\n1,5\n2,7\n";
  const FeatureSkewReport report = skew_of(base, test);
  EXPECT_EQ(report.pairs, 3u);
  const FeatureSkew& x = feature_of(report, "x");
  EXPECT_EQ(x.match, 1u);
  EXPECT_EQ(x.mismatch, 1u);
  EXPECT_EQ(x.base_only, 0u);
  EXPECT_EQ(x.test_only, 1u);
  EXPECT_EQ(x.diff(), 2u);
  EXPECT_EQ(x.base, 2u);
  EXPECT_EQ(x.test, 3u);
  // The order of rows changes nothing, the samples included.
  const FeatureSkewReport other =
      skew_of("id,x\n3,\n1,5\n2,6\n", "id,x\n2,7\n3,9\n1,5\n");
  ASSERT_EQ(feature_of(other, "x").samples.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(feature_of(other, "x").samples[i].identifier,
              x.samples[i].identifier);
    EXPECT_EQ(feature_of(other, "x").samples[i].test, x.samples[i].test);
  }
}

TEST(FeatureSkew, RoundsWhereItIsToldTo) {
  const std::string base = "id,x\n1,1.001\n2,-0\n";
  const std::string test = "id,x\n1,1.002\n2,0.0\n";
  EXPECT_EQ(feature_of(skew_of(base, test), "x").mismatch, 1u);
  EXPECT_EQ(feature_of(skew_of(base, test, {.digits = 2}), "x").mismatch, 0u);
}

TEST(FeatureSkew, CountsRowsThatHaveNoPartner) {
  const std::string base = "id,x\n1,1\n,2\n2,3\n2,4\n5,1\n";
  const std::string test = "id,x\n1,1\n2,3\n?,1\n9,1\n9,1\n";
  const FeatureSkewReport report = skew_of(base, test);
  EXPECT_EQ(report.pairs, 1u);
  EXPECT_EQ(report.base_without, 1u);
  EXPECT_EQ(report.test_without, 1u);
  EXPECT_EQ(report.base_duplicates, 1u);
  EXPECT_EQ(report.test_duplicates, 1u);
  const FeatureSkewReport all = skew_of(base, test, {.pairs_duplicates = true});
  EXPECT_EQ(all.pairs, 3u);
  EXPECT_EQ(feature_of(all, "x").mismatch, 1u);
}

TEST(FeatureSkew, CountsPairsOfValues) {
  const FeatureSkewReport report = skew_of(
      "id,c\n1,a\n2,a\n3,b\n", "id,c\n1,a\n2,b\n3,b\n", {.confusion = {"c"}});
  const auto& confusion = feature_of(report, "c").confusion;
  EXPECT_EQ(confusion.at({"a", "a"}), 1u);
  EXPECT_EQ(confusion.at({"a", "b"}), 1u);
  EXPECT_EQ(confusion.at({"b", "b"}), 1u);
}

// Where there are more pairs than are counted, those that are count to the end.
TEST(FeatureSkew, CountsAllOfThePairsThatItCounts) {
  constexpr int kPairs = 10000;
  std::string table = "id,c\n";
  for (int i = 0; i < 2 * (kPairs + 1); ++i) {
    table += fmt::format("{},{}\n", i, i / 2);
  }
  const FeatureSkewReport report = skew_of(table, table, {.confusion = {"c"}});
  const auto& confusion = feature_of(report, "c").confusion;
  EXPECT_EQ(confusion.size(), kPairs);
  for (const auto& [values, count] : confusion) {
    ASSERT_EQ(count, 2u) << values.first;
  }
}

TEST(FeatureSkew, ComparesListsAndFormats) {
  CsvRows base("id,x\n1,1\n2,\n", "base", "yes");
  JsonRows test(std::make_unique<std::istringstream>(
                    "{\"id\": 1, \"x\": 1.0}\n{\"id\": 2.0, \"x\": []}\n"),
                "test");
  const FeatureSkewReport report =
      measure_feature_skew(base, test, {.identifiers = {"id"}});
  EXPECT_EQ(report.pairs, 2u);
  EXPECT_EQ(feature_of(report, "x").diff(), 0u);
  CsvRows none("x\n1\n", "none", "yes");
  CsvRows again("id\n1\n", "again", "yes");
  EXPECT_THROW(measure_feature_skew(none, again, {.identifiers = {"id"}}),
               Error);
}

}  // namespace
}  // namespace weft::feature_skew_test
