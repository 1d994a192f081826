// Conditions: what they mean, what they refuse, and what is true of counts.
#include "weft/gate/condition.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::condition_test {
namespace {

using test::expect_error;

Decimal decimal(const char* text) {
  const bool is_negative = text[0] == '-';
  const Decimal number = parse_decimal(text + is_negative).value();
  return is_negative ? -number : number;
}

GateClause clause(const char* n, const char* o, const char* d, bool is_greater,
                  const char* threshold, const char* tolerance) {
  return {{decimal(n), decimal(o), decimal(d)},
          is_greater,
          decimal(threshold),
          decimal(tolerance)};
}

void expect_refused(const std::string& text,
                    std::initializer_list<std::string> parts) {
  expect_error(ErrorCode::kInvalidArgument, parts,
               [&] { parse_gate_condition(text); });
}

GateCounts counts(std::int64_t points, std::int64_t n, std::int64_t o,
                  std::int64_t d) {
  return {points, {n, o, d}};
}

TEST(Decimal, ReadsBackWhatItWrites) {
  for (const char* text : {"0", "1", "0.02", "-0.5", "999.000000001", "1000"}) {
    EXPECT_EQ(to_string(decimal(text)), text);
  }
  EXPECT_EQ(to_string(decimal(".50")), "0.5");
}

TEST(Decimal, RefusesWhatItCannotHold) {
  for (const char* text :
       {"", ".", "1.2.3", "1e3", "0.0000000001", "1000.1", "-1",
        "99999999999999999999999999999999999999999999999999"}) {
    EXPECT_FALSE(parse_decimal(text)) << text;
  }
  EXPECT_FALSE(multiply(decimal("0.00001"), decimal("0.00001")));
  EXPECT_FALSE(multiply(decimal("100"), decimal("100")));
  EXPECT_FALSE(add(decimal("1000"), decimal("0.1")));
}

TEST(Condition, HasANormalForm) {
  const auto example = parse_gate_condition("n - o > 0.02 +/- 0.01");
  ASSERT_EQ(example.clauses.size(), 1u);
  EXPECT_EQ(example.clauses[0], clause("1", "-1", "0", true, "0.02", "0.01"));

  const auto two =
      parse_gate_condition("n - 1.1 * o > 0.01 +/- 0.01 /\\ d < 0.1 +/- 0.01");
  ASSERT_EQ(two.clauses.size(), 2u);
  EXPECT_EQ(two.clauses[0], clause("1", "-1.1", "0", true, "0.01", "0.01"));
  EXPECT_EQ(two.clauses[1], clause("0", "0", "1", false, "0.1", "0.01"));
}

TEST(Condition, MultipliesBeforeItAdds) {
  const GateClause expected = clause("1", "-2", "0.5", true, "-0.1", "0.01");
  for (const char* text :
       {"n - 2 * o + 0.5 * d > -0.1 +/- 0.01", "n-o*2+d*.5>-.1+/-.01",
        "(n - o * 2) + d * 0.5 > -0.1 +/- 0.01",
        "  n\n-\t2*o+(d+n-n)*(0.25*2) >  -0.1  +/-  0.01  ",
        "-1 * (2 * o - n - 0.5 * d) > -0.1 +/- 0.01"}) {
    EXPECT_EQ(parse_gate_condition(text).clauses.at(0), expected) << text;
  }
}

TEST(Condition, SubtractsFromTheLeft) {
  EXPECT_EQ(parse_gate_condition("n - o - d > 0 +/- 0.1").clauses[0],
            clause("1", "-1", "-1", true, "0", "0.1"));
}

TEST(Condition, ReadsBackWhatItWrites) {
  for (const char* text :
       {"n > 0.9 +/- 0.05", "-1 * o + 2.5 * d < -0.1 +/- 0.001",
        "n - 1.1 * o > 0.01 +/- 0.01 /\\ d < 0.1 +/- 0.01"}) {
    const GateCondition condition = parse_gate_condition(text);
    EXPECT_EQ(to_string(condition), text);
    EXPECT_EQ(parse_gate_condition(to_string(condition)), condition);
  }
}

TEST(Condition, RefusesWithThePlace) {
  expect_refused("n / o > 1 +/- 0.1",
                 {"no division", "\n  n / o > 1 +/- 0.1\n    ^"});
  expect_refused("n * o > 0.1 +/- 0.1", {"products of variables"});
  expect_refused("(n - o) * (d) > 0.1 +/- 0.1", {"products of variables"});
  expect_refused("n - m > 0.1 +/- 0.1", {"no variable is called 'm'"});
  expect_refused("new > 0.1 +/- 0.1", {"no variable is called 'new'"});
  expect_refused("n > 0.9", {"no tolerance"});
  expect_refused("n > 0.9 +/- 0", {"above zero"});
  expect_refused("n > 0.9 +/- -0.1", {"above zero"});
  expect_refused("n > 0.9 +/-", {"a tolerance is due"});
  expect_refused("n +/- 0.1 > 0.9", {"end of its clause"});
  expect_refused("n - n > 0.1 +/- 0.1", {"no variable"});
  expect_refused("1 > 0.1 +/- 0.1", {"by itself"});
  expect_refused("0 > 0.1 +/- 0.1", {"no variable"});
  expect_refused("n + 0.1 > 0.1 +/- 0.1", {"by itself"});
  expect_refused("n > o + 0.1 +/- 0.1", {"in front of the comparison"});
  expect_refused("n >= 0.1 +/- 0.1", {"> and < only"});
  expect_refused("n = 0.1 +/- 0.1", {"> or < is due"});
  expect_refused("n > 0.1 +/- 0.1 /\\", {"a variable or a number"});
  expect_refused("n > 0.1 +/- 0.1 o > 1 +/- 1", {"should end here"});
  expect_refused("n > 0.1 +/- 0.1; DROP TABLE", {"should end here"});
  expect_refused("-n > 0.1 +/- 0.1", {"a variable or a number is due"});
  expect_refused("(n > 0.1 +/- 0.1", {"a ) is due"});
  expect_refused("n > 1e-3 +/- 0.1", {"no tolerance"});
  expect_refused("n > 0.12345678901 +/- 0.1", {"at most 9 digits"});
  expect_refused("n * 0.00001 * 0.00001 > 0.1 +/- 0.1", {"digits"});
  expect_refused("n * 900 * 900 > 0.1 +/- 0.1", {"above 1000"});
  expect_refused("", {"a variable or a number"});
  expect_refused(fmt::format("{:(>100}", "n"), {"within each other"});
  expect_refused(std::string(5000, ' '), {"bytes"});
  std::string many = "n > 0 +/- 1";
  for (std::size_t i = 0; i < kMostClauses; ++i) many += " /\\ n > 0 +/- 1";
  expect_refused(many, {"clauses"});
}

TEST(Condition, WarnsOfWhatNothingMeets) {
  EXPECT_EQ(warnings_of(parse_gate_condition("n > 2 +/- .1")).size(), 1u);
  // The whole interval cannot lie above.
  EXPECT_EQ(warnings_of(parse_gate_condition("n > 0.95 +/- 0.05")).size(), 1u);
  EXPECT_EQ(warnings_of(parse_gate_condition("d < 0.05 +/- 0.05")).size(), 1u);
  EXPECT_EQ(warnings_of(parse_gate_condition("n - o > -1.2 +/- 0.1")).size(),
            1u);
  EXPECT_TRUE(warnings_of(parse_gate_condition("n > 0.9 +/- 0.05")).empty());
  EXPECT_TRUE(warnings_of(parse_gate_condition("n - o < 0 +/- 0.1")).empty());
}

TEST(Truth, IsOfTheWholeInterval) {
  const GateClause gain =
      parse_gate_condition("n - o > 0.02 +/- 0.01").clauses[0];
  EXPECT_EQ(truth_of(gain, counts(1000, 531, 500, 40)), Truth::kTrue);
  EXPECT_EQ(truth_of(gain, counts(1000, 529, 500, 40)), Truth::kUnknown);
  EXPECT_EQ(truth_of(gain, counts(1000, 509, 500, 40)), Truth::kFalse);
  // The comparison is strict at both ends, and 0.03 - 0.01 is 0.02.
  EXPECT_EQ(truth_of(gain, counts(1000, 530, 500, 40)), Truth::kUnknown);
  EXPECT_EQ(truth_of(gain, counts(1000, 510, 500, 40)), Truth::kUnknown);
  EXPECT_EQ(truth_of(gain, counts(100, 93, 90, 10)), Truth::kUnknown);
}

TEST(Truth, IsMirroredBelow) {
  const GateClause small = parse_gate_condition("d < 0.1 +/- 0.01").clauses[0];
  EXPECT_EQ(truth_of(small, counts(1000, 0, 0, 89)), Truth::kTrue);
  EXPECT_EQ(truth_of(small, counts(1000, 0, 0, 90)), Truth::kUnknown);
  EXPECT_EQ(truth_of(small, counts(1000, 0, 0, 110)), Truth::kUnknown);
  EXPECT_EQ(truth_of(small, counts(1000, 0, 0, 111)), Truth::kFalse);
}

TEST(Truth, DoesNotChangeWithTheScale) {
  const GateClause plain =
      parse_gate_condition("n - o > 0.02 +/- 0.01").clauses[0];
  const GateClause scaled =
      parse_gate_condition("3 * n - 3 * o > 0.06 +/- 0.03").clauses[0];
  for (std::int64_t n = 500; n < 540; ++n) {
    EXPECT_EQ(truth_of(plain, counts(1000, n, 500, 40)),
              truth_of(scaled, counts(1000, n, 500, 40)));
  }
}

TEST(Truth, HoldsOfTheLargestSets) {
  const GateClause clause =
      parse_gate_condition("1000 * n > 999.999999998 +/- 0.000000001")
          .clauses[0];
  EXPECT_EQ(truth_of(clause, counts(kMostPoints, kMostPoints, 0, 0)),
            Truth::kTrue);
  // One point is 0.9 billionths here.
  EXPECT_EQ(truth_of(clause, counts(kMostPoints, kMostPoints - 1, 0, 0)),
            Truth::kTrue);
  EXPECT_EQ(truth_of(clause, counts(kMostPoints, kMostPoints - 2, 0, 0)),
            Truth::kUnknown);
  EXPECT_EQ(truth_of(clause, counts(kMostPoints, kMostPoints - 4, 0, 0)),
            Truth::kFalse);
}

}  // namespace
}  // namespace weft::condition_test
