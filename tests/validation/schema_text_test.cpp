#include "weft/validation/schema_text.h"

#include <gtest/gtest.h>

#include "weft/validation/schema_edit.h"

namespace weft::schema_text_test {
namespace {

using namespace validation;

std::string refusal_of(const std::string& text) {
  try {
    parse_schema(text, "s.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

TEST(SchemaText, SaysWhatIsWrongAndWhere) {
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(refusal_of("[feature.a]\ntype = \"integer\"\n"),
           "s.toml:2:8: feature.a.type: 'integer' is not known");
  contains(refusal_of("[feature.a]\nmin_fractoin = 1\n"),
           "s.toml:2:1: feature.a.min_fractoin: there is no such key (did you "
           "mean 'min_fraction'?)");
  contains(refusal_of("[feature.a]\nmin_fraction = 1.5\n"),
           "1.5 is not in [0, 1]");
  contains(refusal_of("[feature.a]\nmin = 3\nmax = 2\n"), "min is above max");
  contains(refusal_of("[feature.a]\nvalues_of = \"b\"\n"),
           "there is no [values.b]");
  contains(refusal_of("[feature.a]\ndrift = { l2 = 1 }\n"),
           "'l2' is no distance; there are");
  contains(refusal_of("[feature.a]\nshape = [1]\nvalue_count = {}\n"),
           "a shape says how many");
  contains(refusal_of("[severity]\nnew_colum = \"off\"\n"),
           "did you mean 'new_column'?");
  contains(refusal_of("feature = 3\n"), "a table is due");
  contains(refusal_of("[feature\n"), "s.toml:1:");
  contains(refusal_of("[values.a]\n"), "values.a.list: it is missing");
}

TEST(SchemaText, ReadsBackWhatItWrites) {
  Schema schema{
      .default_environments = {"training", "it's \"quoted\""},
      .dataset = {.min_rows = 3, .max_rows_ratio = 1.25},
      .severity = {{"drift", Severity::kWarning}},
      .value_lists = {{"words; DROP TABLE x", {"a\nb", "ö", "\x01"}}}};
  schema.features = {{.name = "Robert'); DROP TABLE students;--",
                      .type = ValueType::kString,
                      .min_fraction = 0.1,
                      .min_count = 7,
                      .value_count = {{1, 3}, {std::nullopt, 5}},
                      .values_of = "words; DROP TABLE x",
                      .min_domain_mass = 0.999,
                      .max_distinct = 12,
                      .stage = Stage::kBeta,
                      .in_environments = {"x"},
                      .drift = {{"jensen_shannon", 0.1}, {"l_infinity", 1e-7}},
                      .histogram = "quantiles",
                      .unit = "m/s"},
                     {.name = "",
                      .type = ValueType::kFloat,
                      .shape = {{2, 3}},
                      .min = -1e300,
                      .max = 9223372036854775807.0L,
                      .disallow_nan = true,
                      .not_in_environments = {"training"}}};
  EXPECT_EQ(parse_schema(to_toml(schema), "test"), schema) << to_toml(schema);
}

constexpr const char* kReviewed = R"(# Reviewed by Ada.
default_environments = ["training"] # and serving, one day

[dataset] # grows by the day
min_rows = 10

# The age in years.
[feature.age]
type = "int" # whole ones
min = 17     # by law
# nothing above
[feature."größe ü"]
values = [
  "S", # small
  "M",
  "L"  # large, "x, ]"
]
stage = "beta"

[values.unused]
list = ["a"]
)";

TEST(SchemaEdit, ChangesNothingElse) {
  Schema to = parse_schema(kReviewed, "test");
  EXPECT_EQ(edit_schema(kReviewed, "test", to), kReviewed);
  to.dataset.min_rows = 5;
  to.features[0].min = 16;
  to.features[0].max = 99;
  to.features[1].values->push_back("XL");
  to.features[1].stage.reset();
  to.features.push_back({.name = "new", .min_count = 1});
  EXPECT_EQ(edit_schema(kReviewed, "test", to), R"(# Reviewed by Ada.
default_environments = ["training"] # and serving, one day

[dataset] # grows by the day
min_rows = 5

# The age in years.
[feature.age]
type = "int" # whole ones
min = 16     # by law
max = 99
# nothing above
[feature."größe ü"]
values = [
  "S", # small
  "M",
  "L", "XL"  # large, "x, ]"
]

[values.unused]
list = ["a"]

[feature.new]
min_count = 1
)");
}

TEST(SchemaEdit, AddsToWhatSaysNothing) {
  const Schema to{.default_environments = {"a"}, .dataset = {.min_rows = 2}};
  const std::string text = edit_schema("# Nothing yet.", "test", to);
  EXPECT_EQ(parse_schema(text, "test"), to) << text;
  EXPECT_NE(text.find("# Nothing yet."), std::string::npos);
}

TEST(SchemaEdit, MakesBoundsOfOneLevelOfAList) {
  const std::string text =
      "[feature.x]\nvalue_count = [{ min = 1 }, { max = 3 }]\n";
  Schema to = parse_schema(text, "test");
  to.features[0].value_count.pop_back();
  EXPECT_EQ(edit_schema(text, "test", to),
            "[feature.x]\nvalue_count = { min = 1 }\n");
}

TEST(SchemaEdit, RefusesWhatHasNoLines) {
  Schema to = parse_schema("feature = { a = { min = 1 } }", "test");
  to.features[0].max = 3;
  EXPECT_THROW(edit_schema("feature = { a = { min = 1 } }", "test", to), Error);
}

}  // namespace
}  // namespace weft::schema_text_test
