#include "weft/validation/examples.h"

#include <gtest/gtest.h>
#include <sstream>

#include "weft/validation/check.h"
#include "weft/validation/csv_rows.h"
#include "weft/validation/json_rows.h"
#include "weft/validation/schema_text.h"

namespace weft::examples_test {
namespace {

using namespace validation;

constexpr const char* kSchema = R"(
default_environments = ["training", "serving"]
[dataset]
min_rows = 1
[feature.age]
type = "int"
min_fraction = 0.5
min = -3
max = 120
[feature.open]
type = "int"
[feature.price]
type = "float"
min_count = 2
min = 0
disallow_nan = true
[feature.any]
type = "float"
[feature.word]
type = "string"
min_fraction = 1.0
[feature.colour]
type = "string"
values_of = "colours"
min_domain_mass = 0.9
[feature.flag]
type = "string"
domain = "bool"
[feature.code]
type = "int"
max_distinct = 3
[feature.label]
type = "int"
domain = "bool"
min_fraction = 1.0
not_in_environments = ["serving"]
[feature.old]
type = "int"
min_count = 1
stage = "deprecated"
[values.colours]
list = ["red", "green, or so", "it's \"blue\""]
)";

template <class Rows>
std::string anomalies_of(const Schema& schema, Rows rows,
                         const std::string& environment) {
  Statistics statistics(statistics_options(schema));
  ColumnBatch batch;
  while (rows.next(batch)) statistics.add(batch);
  const StatisticsSummary data = summarize(statistics);
  std::string found;
  for (const Anomaly& anomaly :
       check(schema, {.data = data, .environment = environment}).anomalies) {
    found += anomaly.feature + " " + anomaly.kind + "; ";
  }
  return found;
}

// Held against the schema by the checks that all data pass, as a program would
// read them.
TEST(Examples, AreAsTheSchemaSays) {
  const Schema schema = parse_schema(kSchema, "test");
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::size_t count = 2 + 7 * seed;
    for (const std::string environment : {"training", "serving"}) {
      const std::string csv = text_of(
          make_examples(schema, count, seed, environment, ExampleFormat::kCsv),
          ExampleFormat::kCsv);
      EXPECT_EQ(anomalies_of(schema, CsvRows(csv, "test", "yes"), environment),
                "")
          << csv;
    }
  }
}

TEST(Examples, HaveListsAsTheSchemaSays) {
  Schema schema = parse_schema(
      "[feature.l]\ntype = \"int\"\nmin = 1\nmax = 9\n"
      "value_count = [{ max = 3 }, { min = 2, max = 2 }]\n"
      "[feature.s]\ntype = \"string\"\nshape = [2, 2]\n"
      "[feature.i]\ntype = \"string\"\ndomain = \"integer\"\n",
      "test");
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string lines =
        text_of(make_examples(schema, 40, seed, "", ExampleFormat::kJsonLines),
                ExampleFormat::kJsonLines);
    EXPECT_EQ(
        anomalies_of(
            schema,
            JsonRows(std::make_unique<std::istringstream>(lines), "test"), ""),
        "")
        << lines;
  }
}

// Doubles near the bounds lie beyond them.
TEST(Examples, KeepBoundsOfMoreDigitsThanDoublesHave) {
  const Schema schema = parse_schema(
      "[feature.x]\ntype = \"float\"\ndisallow_nan = true\n"
      "min = -9223372036854775807\nmax = 9223372036854775807\n",
      "test");
  EXPECT_NO_THROW(make_examples(schema, 100, 1, "", ExampleFormat::kJsonLines));
}

TEST(Examples, ReachTheEdges) {
  const Schema schema = parse_schema(kSchema, "test");
  const Examples examples =
      make_examples(schema, 200, 1, "", ExampleFormat::kCsv);
  const auto has = [&](const char* name, const std::string& text) {
    const auto place = static_cast<std::size_t>(
        std::ranges::find(examples.names, name) - examples.names.begin());
    return std::ranges::any_of(examples.rows, [&](const Example& row) {
      return row[place] && row[place]->text == text;
    });
  };
  for (const char* text : {"-3", "-1", "0", "1", "120"}) {
    EXPECT_TRUE(has("age", text)) << text;
  }
  EXPECT_TRUE(has("open", "-9223372036854775808"));
  EXPECT_TRUE(has("open", "9223372036854775807"));
  EXPECT_TRUE(has("any", "NaN"));
  EXPECT_TRUE(has("any", "-Infinity"));
  EXPECT_TRUE(has("price", "0.0"));
  EXPECT_TRUE(has("price", "Infinity"));
  EXPECT_FALSE(has("price", "NaN"));
  EXPECT_TRUE(has("colour", "a stranger"));
  EXPECT_TRUE(std::ranges::any_of(examples.rows,
                                  [](const Example& row) { return !row[0]; }));
}

}  // namespace
}  // namespace weft::examples_test
