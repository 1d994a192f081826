#include "weft/validation/check.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/validation/tables.h"

#include "weft/base/philox.h"
#include "weft/validation/infer.h"
#include "weft/validation/schema_edit.h"
#include "weft/validation/schema_text.h"

namespace weft::check_test {
namespace {

using namespace validation;
using test::summary_of_table;
using test::table_of;

Schema schema_of(const std::string& text) {
  return parse_schema(text, "test.toml");
}

CheckReport check_table(const std::string& schema, const std::string& table,
                        const std::string& environment = "") {
  const Schema parsed = schema_of(schema);
  const StatisticsSummary data =
      summary_of_table(table, statistics_options(parsed));
  return check(parsed, {.data = data, .environment = environment});
}

// The kinds of the anomalies, each followed by a blank.
std::string kinds_of(const CheckReport& report) {
  std::string kinds;
  for (const Anomaly& anomaly : report.anomalies) kinds += anomaly.kind + " ";
  return kinds;
}

std::string found(const std::string& schema, const std::string& table) {
  return kinds_of(check_table(schema, table));
}

std::string random_cell(std::uint32_t word) {
  const std::uint32_t kind = word % 11;
  const std::uint32_t value = word / 11 % 1000;
  if (kind < 2) return "";
  if (kind < 5) return fmt::format("{}", static_cast<int>(value) - 500);
  if (kind < 7) return fmt::format("{}.25", value);
  if (kind == 7) return value % 2 == 0 ? "nan" : "-inf";
  if (kind == 8) return value % 3 == 0 ? "\xff\xfe" : "true";
  return fmt::format("v{}", value % 17);
}

// Some columns keep to one kind of cell, and others mix them.
std::string random_table(std::uint64_t seed, std::size_t rows) {
  const RandomStream random{.seed = seed};
  const std::size_t columns = 1 + random.word(0) % 5;
  std::string text;
  for (std::size_t c = 0; c < columns; ++c) {
    text += fmt::format("{}c{}", c == 0 ? "" : ",", (c + random.word(1)) % 7);
  }
  text += '\n';
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      std::uint32_t word = random.word(8 + r * columns + c);
      const std::uint32_t kind = random.word(2 + c) % 12;
      if (kind < 11) word = word / 11 * 11 + kind;
      const std::string cell = random_cell(word);
      text += (c == 0 ? "" : ",") + (cell.empty() ? "\"\"" : cell);
    }
    text += '\n';
  }
  return text;
}

TEST(Check, FindsNothingInWhatItWasInferredFrom) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string table = random_table(seed, seed % 40);
    const StatisticsSummary data = summary_of_table(table);
    const Schema schema =
        infer_schema(data, {.suggests_ranges = seed % 2 == 0});
    EXPECT_EQ(kinds_of(check(schema, {.data = data})), "") << table;
    // The text says the same.
    EXPECT_EQ(schema_of(to_toml(schema)), schema) << to_toml(schema);
  }
}

TEST(Check, FindsNothingOnceItsEditsAreAccepted) {
  int anomalies = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Schema schema =
        infer_schema(summary_of_table(random_table(seed, seed % 30)),
                     {.suggests_ranges = true});
    const std::string table = random_table(seed + 1000, seed % 50);
    const StatisticsSummary data =
        summary_of_table(table, statistics_options(schema));
    const CheckReport report = check(schema, {.data = data});
    anomalies += static_cast<int>(report.anomalies.size());
    EXPECT_EQ(kinds_of(check(report.repaired, {.data = data})), "") << table;
    for (const Anomaly& anomaly : report.anomalies) {
      EXPECT_NE(anomaly.edit, "") << anomaly.kind << anomaly.detail;
    }
    // The text can be edited into what allows the data.
    const std::string edited =
        edit_schema(to_toml(schema), "test.toml", report.repaired);
    EXPECT_EQ(schema_of(edited), report.repaired) << edited;
  }
  EXPECT_GT(anomalies, 300);
}

TEST(Check, FindsNewAndMissingColumns) {
  const CheckReport report =
      check_table("[feature.a]\nmin_count = 1\n[feature.b]\n", "c\n1\n");
  EXPECT_EQ(kinds_of(report), "new_column missing_column ");
  EXPECT_NE(report.anomalies[0].edit.find("+ [feature.c]"), std::string::npos);
  EXPECT_EQ(report.anomalies[1].edit, "feature.a.stage = \"deprecated\"\n");
  // What was never required may be missing.
  EXPECT_EQ(report.repaired.find("b")->stage, std::nullopt);
  // A column without a value is as good as missing.
  EXPECT_EQ(found("[feature.a]\nmin_fraction = 0.1\n", "a\n\"\"\n"),
            "missing_column ");
}

TEST(Check, MindsOneMissingRowAmongTenMillion) {
  StatisticsSummary data{.rows = 10'000'000, .features = {}, .slices = {}};
  data.features.push_back({.name = "a",
                           .rows = 10'000'000,
                           .present = 9'999'999,
                           .levels = {},
                           .numbers = {},
                           .counts = {}});
  const Schema schema = schema_of("[feature.a]\nmin_fraction = 1.0\n");
  const CheckReport report = check(schema, {.data = data});
  EXPECT_EQ(kinds_of(report), "low_fraction ");
  EXPECT_EQ(kinds_of(check(report.repaired, {.data = data})), "");
  // So few are no share at all, and still they are missing.
  data.rows = data.features[0].rows = std::uint64_t{1} << 62;
  data.features[0].present = (std::uint64_t{1} << 62) - 1;
  const CheckReport again = check(schema, {.data = data});
  EXPECT_EQ(kinds_of(again), "low_fraction ");
  EXPECT_EQ(again.repaired.find("a")->min_fraction, 0.9999);
}

TEST(Check, CountsRowsThatHaveAFeature) {
  const std::string table = "a\n1\n2\n\"\"\n4\n";
  EXPECT_EQ(found("[feature.a]\nmin_fraction = 0.75\nmin_count = 3\n", table),
            "");
  EXPECT_EQ(found("[feature.a]\nmin_fraction = 0.76\n", table),
            "low_fraction ");
  EXPECT_EQ(found("[feature.a]\nmin_count = 4\n", table), "low_count ");
}

TEST(Check, AllowsExactlyTheShareOfOtherValues) {
  const std::string schema =
      "[feature.x]\nvalues = [\"a\"]\nmin_domain_mass = 0.9\n";
  EXPECT_EQ(found(schema, table_of({{"a", 90}, {"b", 10}})), "");
  EXPECT_EQ(found(schema, table_of({{"a", 89}, {"b", 11}})),
            "unexpected_values ");
  // Without a share all must be listed, and one of a million is one too many.
  StatisticsSummary data{.rows = 1'000'000, .features = {}, .slices = {}};
  data.features.push_back(
      {.name = "x",
       .rows = 1'000'000,
       .present = 1'000'000,
       .levels = {},
       .values = 1'000'000,
       .texts = 1'000'000,
       .numbers = {},
       .distinct = 2,
       .counts = {{.hash = 1, .count = 999'999, .text = "a", .bytes = 1},
                  {.hash = 2, .count = 1, .text = "b", .bytes = 1}}});
  const CheckReport report =
      check(schema_of("[feature.x]\nvalues = [\"a\"]\n"), {.data = data});
  EXPECT_EQ(kinds_of(report), "unexpected_values ");
  EXPECT_EQ(report.anomalies[0].detail, "1 of 1000000 values (<1 %): 'b'");
  EXPECT_EQ(report.anomalies[0].edit, "feature.x.values += \"b\"\n");
}

TEST(Check, DropsAListThatBecomesTooLong) {
  std::vector<std::pair<std::string, int>> values;
  for (int i = 0; i < 500; ++i) values.emplace_back(fmt::format("v{}", i), 1);
  const CheckReport report =
      check_table("[feature.x]\nvalues = [\"v0\"]\n", table_of(values));
  EXPECT_EQ(kinds_of(report), "unexpected_values ");
  EXPECT_EQ(report.repaired.find("x")->values, std::nullopt);
}

TEST(Check, FindsOtherValuesAmongMoreThanCanBeCounted) {
  std::string schema = "[feature.x]\nvalues = [";
  std::vector<std::pair<std::string, int>> values;
  for (int i = 0; i < 6000; ++i) {
    values.emplace_back(fmt::format("v{}", i), 1);
    schema += fmt::format("\"v{}\",", i);
  }
  schema += "]\n";
  EXPECT_EQ(found(schema, table_of(values)), "");
  values.emplace_back("other", 1);
  EXPECT_EQ(found(schema, table_of(values)), "unexpected_values ");
}

TEST(Check, InfersBooleans) {
  const auto domain = [](const std::string& table) {
    return infer_schema(summary_of_table(table)).features[0].domain;
  };
  EXPECT_EQ(domain("x\n1\n0\n"), Domain::kBool);
  EXPECT_EQ(domain("x\n1\n1\n"), Domain::kBool);
  EXPECT_EQ(domain("x\n-1\n1\n"), Domain::kAny);
  EXPECT_EQ(domain("x\n0\n0\n"), Domain::kAny);
  EXPECT_EQ(domain("x\ntrue\nfalse\n"), Domain::kBool);
  EXPECT_EQ(domain("x\nSET\nCLEAR\n"), Domain::kBool);
  // Two ways to say yes are a list of two words.
  EXPECT_EQ(domain("x\n1\ntrue\n"), Domain::kAny);
  EXPECT_EQ(found("[feature.x]\ndomain = \"bool\"\n", "x\n0\n2\n"),
            "not_bool ");
  EXPECT_EQ(found("[feature.x]\ndomain = \"bool\"\n", "x\nyes\n"), "not_bool ");
}

TEST(Check, FindsNumbersThatAreNone) {
  const std::string schema =
      "[feature.x]\ntype = \"float\"\nmin = 0\nmax = 10\ndisallow_nan = true\n"
      "disallow_inf = true\n";
  EXPECT_EQ(found(schema, "x\n0\n10.0\n"), "");
  const CheckReport report = check_table(schema, "x\n-0.5\n11\nnan\ninf\n5\n");
  EXPECT_EQ(kinds_of(report), "below_min above_max nan infinite ");
  EXPECT_EQ(report.anomalies[0].edit, "feature.x.min = 0 → -0.5\n");
  EXPECT_EQ(report.anomalies[2].edit, "feature.x.disallow_nan is dropped\n");
}

TEST(Check, KeepsBoundsOfAllBits) {
  const std::string schema =
      "[feature.x]\ntype = \"int\"\nmax = 9007199254740992\n";
  EXPECT_EQ(found(schema, "x\n9007199254740992\n"), "");
  EXPECT_EQ(found(schema, "x\n9007199254740993\n"), "above_max ");
}

TEST(Check, FindsAnotherType) {
  const std::string schema = "[feature.x]\ntype = \"int\"\n";
  EXPECT_EQ(found(schema, "x\n1\n2\n"), "");
  const CheckReport report = check_table(schema, "x\n1\n2.5\nabc\n");
  EXPECT_EQ(kinds_of(report), "wrong_type ");
  EXPECT_NE(report.anomalies[0].detail.find("'2.5', 'abc'"), std::string::npos);
  // Integers are numbers, and in a table anything is a text.
  EXPECT_EQ(found("[feature.x]\ntype = \"float\"\n", "x\n1\n"), "");
  EXPECT_EQ(found("[feature.x]\ntype = \"string\"\n", "x\n1\n"), "");
}

TEST(Check, LeavesOutWhatIsNotLive) {
  for (const char* stage :
       {"planned", "alpha", "debug_only", "disabled", "deprecated"}) {
    EXPECT_EQ(found(fmt::format("[feature.x]\ntype = \"int\"\nmin_count = 1\n"
                                "stage = \"{}\"\n",
                                stage),
                    "x\nabc\n"),
              "")
        << stage;
  }
  for (const char* stage : {"beta", "production"}) {
    EXPECT_EQ(found(fmt::format("[feature.x]\ntype = \"int\"\n"
                                "stage = \"{}\"\n",
                                stage),
                    "x\nabc\n"),
              "wrong_type ")
        << stage;
  }
}

TEST(Check, KnowsEnvironments) {
  const std::string schema =
      "default_environments = [\"training\", \"serving\"]\n"
      "[feature.x]\nmin_count = 1\n"
      "[feature.label]\nmin_count = 1\nnot_in_environments = [\"serving\"]\n";
  const std::string served = "x\n1\n";
  EXPECT_EQ(kinds_of(check_table(schema, served, "serving")), "");
  EXPECT_EQ(kinds_of(check_table(schema, served, "training")),
            "missing_column ");
  EXPECT_EQ(kinds_of(check_table(schema, served)), "missing_column ");
  const CheckReport leaked = check_table(schema, "x,label\n1,1\n", "serving");
  EXPECT_EQ(kinds_of(leaked), "new_column ");
  EXPECT_EQ(leaked.anomalies[0].edit,
            "feature.label.not_in_environments is dropped\n");
  EXPECT_THROW(check_table(schema, served, "serveing"), Error);
}

TEST(Check, CountsRowsAndDifferentValues) {
  EXPECT_EQ(found("", "x\n"), "few_rows ");
  EXPECT_EQ(found("[dataset]\nmin_rows = 0\n", "x\n"), "");
  EXPECT_EQ(found("[dataset]\nmin_rows = 2\nmax_rows = 2\n[feature.x]\n",
                  "x\n1\n2\n3\n"),
            "many_rows ");
  const std::string schema =
      "[feature.x]\nmin_distinct = 2\nmax_distinct = 3\n";
  EXPECT_EQ(found(schema, "x\n1\n2\n2\n"), "");
  EXPECT_EQ(found(schema, "x\n1\n1\n"), "few_distinct ");
  EXPECT_EQ(found(schema, "x\n1\n2\n3\n4\n"), "many_distinct ");
}

TEST(Check, ComparesRowsWithThoseBefore) {
  const Schema schema = schema_of(
      "[dataset]\nmin_rows_ratio = 0.5\nmax_rows_ratio = 1.5\n[feature.x]\n");
  const auto compare = [&](int rows, int before) {
    const auto data = summary_of_table(table_of({{"a", rows}}));
    const auto previous = summary_of_table(table_of({{"a", before}}));
    return kinds_of(check(schema, {.data = data, .previous = &previous}));
  };
  EXPECT_EQ(compare(10, 10), "");
  EXPECT_EQ(compare(5, 10), "");
  EXPECT_EQ(compare(4, 10), "rows_fell ");
  EXPECT_EQ(compare(16, 10), "rows_rose ");
}

TEST(Check, FindsWhatTheSchemaContradicts) {
  EXPECT_EQ(found("[feature.x]\ntype = \"string\"\nmin = 1\n", "x\na\n"),
            "domain_type ");
  EXPECT_EQ(found("[feature.x]\nvalues = [\"a\", \"a\"]\n", "x\na\n"),
            "repeated_values ");
  EXPECT_EQ(found("[feature.x]\nvalues = [\"a\"]\n", "x\na\n\xff\n"),
            "invalid_utf8 ");
}

TEST(Check, AlertsAboveTheThresholdAndNotAtIt) {
  const auto drift = [](double most) {
    const Schema schema = schema_of(
        fmt::format("[feature.x]\ndrift = {{ l_infinity = {} }}\n", most));
    const auto data =
        summary_of_table(table_of({{"A", 50}, {"B", 30}, {"C", 20}}));
    const auto previous =
        summary_of_table(table_of({{"A", 40}, {"B", 30}, {"D", 30}}));
    return check(schema, {.data = data, .previous = &previous});
  };
  const CheckReport at = drift(0.3);
  EXPECT_EQ(kinds_of(at), "");
  // What was measured is told all the same.
  ASSERT_EQ(at.measurements.size(), 1u);
  EXPECT_DOUBLE_EQ(at.measurements[0].value, 0.3);
  EXPECT_EQ(at.measurements[0].where, "D");
  const CheckReport above = drift(0.29);
  EXPECT_EQ(kinds_of(above), "drift ");
  EXPECT_EQ(above.repaired.find("x")->drift[0].most, at.measurements[0].value);
}

TEST(Check, SaysWhereThereIsNothingToCompareWith) {
  const Schema schema = schema_of(
      "[feature.x]\ndrift = { l_infinity = 0.5 }\nskew = { l_infinity = 0.5 "
      "}\n");
  const auto data = summary_of_table("x\na\n");
  const auto other = summary_of_table("y\na\n");
  EXPECT_EQ(kinds_of(check(schema, {.data = data})), "");
  EXPECT_EQ(kinds_of(check(schema, {.data = data, .serving = &other})),
            "no_control ");
}

TEST(Check, WarnsWhereSamplesAreTooSmallForTheThreshold) {
  const Schema schema =
      schema_of("[feature.x]\ndrift = { l_infinity = 0.01 }\n");
  const auto data = summary_of_table(table_of({{"A", 10}, {"B", 10}}));
  const CheckReport report = check(schema, {.data = data, .previous = &data});
  EXPECT_EQ(kinds_of(report), "few_to_compare ");
  EXPECT_EQ(report.anomalies[0].severity, Severity::kWarning);
  EXPECT_FALSE(report.has_errors());
}

TEST(Check, TakesSeverityFromTheSchema) {
  const std::string feature = "[feature.x]\n";
  const CheckReport warned = check_table(
      "[severity]\nnew_column = \"warning\"\n" + feature, "x,y\n1,2\n");
  EXPECT_EQ(kinds_of(warned), "new_column ");
  EXPECT_FALSE(warned.has_errors());
  EXPECT_EQ(found("[severity]\nnew_column = \"off\"\n" + feature, "x,y\n1,2\n"),
            "");
}

}  // namespace
}  // namespace weft::check_test
