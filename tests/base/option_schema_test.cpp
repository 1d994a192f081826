#include "weft/base/option_schema.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/errors.h"

#include "weft/base/refusal.h"

namespace weft {
namespace {

OptionSpec number(NumberRange range) {
  return {.name = "x", .value = 1.0, .summary = "", .range = range};
}

TEST(NumberRange, SaysWhatItHolds) {
  EXPECT_EQ(to_string(NumberRange()), "");
  EXPECT_EQ(to_string(NumberRange{.least = 1}), "at least 1");
  EXPECT_EQ(to_string(NumberRange{.least = 0, .is_open_below = true}),
            "above 0");
  EXPECT_EQ(
      to_string(NumberRange{.least = 0, .most = 1, .is_open_above = true}),
      "in [0, 1)");
  EXPECT_EQ(to_string(NumberRange{.least = 0.1, .most = 1, .has_zero = true}),
            "0 or in [0.1, 1]");
}

TEST(OptionSchema, RefusesWhatARangeLeavesOut) {
  const NumberRange half_open{.least = 0, .most = 1, .is_open_above = true};
  for (const double in : {0.0, -0.0, 0.5, std::nextafter(1.0, 0.0)}) {
    EXPECT_FALSE(declines(number(half_open), in)) << in;
  }
  for (const double out : {1.0, std::nextafter(0.0, -1.0),
                           std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(declines(number(half_open), out), "must be in [0, 1)") << out;
  }
  const NumberRange or_zero{.least = 0.1, .most = 1, .has_zero = true};
  EXPECT_FALSE(declines(number(or_zero), 0.0));
  EXPECT_FALSE(declines(number(or_zero), 0.1));
  EXPECT_EQ(declines(number(or_zero), 0.05), "must be 0 or in [0.1, 1]");
  EXPECT_EQ(declines(number({}), std::numeric_limits<double>::infinity()),
            "must be a finite number");
}

TEST(OptionSchema, ARangeOfAListIsThatOfEach) {
  using List = std::vector<std::int64_t>;
  const OptionSpec list{
      .name = "x", .value = List(), .summary = "", .range = {.least = 1}};
  EXPECT_FALSE(declines(list, List()));
  EXPECT_FALSE(declines(list, (List{1, 9})));
  EXPECT_EQ(declines(list, (List{1, 0, 9})),
            "holds 0, which must be at least 1");
}

TEST(OptionSchema, SaysWhichKindIsDue) {
  const std::vector<OptionSpec> schema{{"n", std::int64_t{1}, ""},
                                       {"is_on", false, ""}};
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"option 'n' is 1.5, but must be an integer"}, [&] {
                       complete(schema, {{"n", 1.5}}, "it");
                     });
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"option 'is_on' is 1, but must be true or false"}, [&] {
                       complete(schema, {{"is_on", std::int64_t{1}}}, "it");
                     });
}

TEST(OptionSchema, TakesWordsThatStandForIntegers) {
  const std::vector<OptionSpec> schema{{.name = "n",
                                        .value = std::int64_t{1},
                                        .summary = "",
                                        .words = {{"auto", 0}}}};
  EXPECT_EQ(option<std::int64_t>(
                complete(schema, {{"n", std::string("auto")}}, "it"), "n"),
            0);
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"option 'n' is \"often\", but must be an integer"}, [&] {
                       complete(schema, {{"n", std::string("often")}}, "it");
                     });
}

TEST(Refusal, SaysWhoDeclinesWhatWhyAndWhatWorks) {
  const Error error = refused("sync.collective", "'ring'",
                              {"'topk'", "entries differ", "\"auto\" works"});
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_STREQ(error.what(),
               "sync.collective: 'ring' declines 'topk', because entries "
               "differ\n  hint: \"auto\" works");
  EXPECT_STREQ(refused("all_reduce", "'ring'", {"i8", "it has no sums", ""},
                       ErrorCode::kUnsupported)
                   .what(),
               "all_reduce: 'ring' declines i8, because it has no sums");
}

}  // namespace
}  // namespace weft
