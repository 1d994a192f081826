// Programs by HiGHS: small ones with known solutions.
#include "weft/base/libraries/integer_program.h"

#include <gtest/gtest.h>
#include <limits>

#include "tests/support/errors.h"

namespace weft::integer_program_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// max 5 x + 4 y, 6 x + 4 y <= 24, x + 2 y <= 6 (Taha, "Operations research"):
// 21 at (3, 1.5), and 20 at (4, 0) for whole numbers.
IntegerProgram two_rows(bool is_whole) {
  return {.columns = {{5, 0, kInfinity, is_whole}, {4, 0, kInfinity, is_whole}},
          .rows = {{{{0, 6}, {1, 4}}, -kInfinity, 24},
                   {{{0, 1}, {1, 2}}, -kInfinity, 6}}};
}

TEST(IntegerProgram, OfRealNumbers) {
  const IntegerSolution found = solve(two_rows(false), {});
  EXPECT_TRUE(found.is_optimal);
  EXPECT_NEAR(found.value, 21, 1e-9);
  EXPECT_NEAR(found.x[0], 3, 1e-9);
  EXPECT_NEAR(found.x[1], 1.5, 1e-9);
}

TEST(IntegerProgram, OfWholeNumbers) {
  const IntegerSolution found = solve(two_rows(true), {});
  EXPECT_TRUE(found.is_optimal);
  EXPECT_NEAR(found.value, 20, 1e-9);
  EXPECT_NEAR(found.bound, 20, 1e-6);
  EXPECT_NEAR(found.x[0], 4, 1e-9);
}

TEST(IntegerProgram, WithoutRowsOrColumns) {
  EXPECT_EQ(solve({}, {}).x.size(), 0);
  EXPECT_NEAR(solve({.columns = {{2, 0, 3, true}}, .rows = {}}, {}).value, 6,
              1e-9);
}

TEST(IntegerProgram, SaysThatNothingIsTheLargest) {
  test::expect_error(ErrorCode::kInvalidArgument, {"no largest solution"}, [] {
    solve({.columns = {{1, 0, 1, true}}, .rows = {{{{0, 1}}, 2, 3}}}, {});
  });
  test::expect_error(ErrorCode::kInvalidArgument, {"no largest solution"}, [] {
    solve({.columns = {{1, 0, kInfinity, false}}, .rows = {}}, {});
  });
}

}  // namespace
}  // namespace weft::integer_program_test
