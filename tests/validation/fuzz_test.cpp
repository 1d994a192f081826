#include "weft/validation/fuzz.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/validation/check.h"
#include "weft/validation/schema_text.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

using test::expect_error;

// Fails where one number of the only feature is as `is_bad` says.
FuzzProgram failing(bool (*is_bad)(double)) {
  return [=](const Examples& examples) -> std::optional<std::string> {
    for (const Example& row : examples.rows) {
      if (is_bad(parse_value(row[0]->text).number)) return "bad";
    }
    return std::nullopt;
  };
}

struct Case {
  const char* bounds;
  bool (*is_bad)(double);
};

// What excludes a finding leaves something, and no more than there was; what is
// plain is within the bounds, too.
TEST(Fuzz, TightensWithinTheBounds) {
  const std::vector<Case> cases{
      {"min = 0\nmax = 0.96", [](double x) { return x < 0.5; }},
      {"min = 0\nmax = 0.25", [](double x) { return x < 0.2; }},
      {"min = -10\nmax = -1", [](double x) { return x < -4; }},
      {"min = -10\nmax = -5", [](double x) { return x < -5; }},
      {"min = 5\nmax = 8", [](double x) { return x > 6; }},
      {"min = 3e9\nmax = 4e9", [](double x) { return x > 3.5e9; }},
      {"min = -50\nmax = 50", [](double x) { return x < -20 || x > 20; }}};
  for (const Case& each : cases) {
    const Schema schema = parse_schema(
        fmt::format("[feature.x]\ntype = \"float\"\nmin_fraction = 1\n"
                    "disallow_nan = true\ndisallow_inf = true\n{}\n",
                    each.bounds),
        "test");
    const FuzzReport report = fuzz(schema, {}, failing(each.is_bad));
    ASSERT_FALSE(report.findings.empty()) << each.bounds;
    const FeatureRule& before = schema.features[0];
    for (const FuzzFinding& finding : report.findings) {
      for (const Example& row : finding.examples.rows) {
        const double number = parse_value(row[0]->text).number;
        EXPECT_GE(number, *before.min) << each.bounds;
        EXPECT_LE(number, *before.max) << each.bounds;
      }
    }
    const FeatureRule& after = report.tightened.features[0];
    EXPECT_LE(*after.min, *after.max) << each.bounds;
    EXPECT_GE(*after.min, *before.min) << each.bounds;
    EXPECT_LE(*after.max, *before.max) << each.bounds;
    EXPECT_FALSE(each.is_bad(static_cast<double>(*after.min))) << each.bounds;
    EXPECT_FALSE(each.is_bad(static_cast<double>(*after.max))) << each.bounds;
  }
}

// A program that was never run has not been tried.
TEST(Fuzz, RefusesFewerExamplesThanTheSchemaWants) {
  const Schema schema = parse_schema(
      "[dataset]\nmin_rows = 200\n[feature.x]\ntype = \"float\"\n", "test");
  const FuzzProgram program = failing([](double) { return true; });
  expect_error(ErrorCode::kInvalidArgument,
               {"100 examples", "dataset.min_rows", "200"},
               [&] { fuzz(schema, {}, program); });
  EXPECT_FALSE(fuzz(schema, {.examples = 200}, program).findings.empty());
}

}  // namespace
}  // namespace weft::validation
