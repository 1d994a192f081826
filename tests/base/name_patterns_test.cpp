#include "weft/base/name_patterns.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::name_patterns_test {
namespace {

TEST(NamePatterns, FitEachNameOnce) {
  const std::vector<std::string> names = {"0.weight", "0.bias", "1.weight"};
  const auto check = [&](const std::vector<std::string>& patterns) {
    check_patterns(patterns, names, "parameter", "optimizer.groups");
  };
  check({});
  check({"*.bias", "1.*"});
  test::expect_error(
      ErrorCode::kInvalidArgument,
      {"optimizer.groups", "no parameter is called '0.wieght'",
       "did you mean '0.weight'?", "weft inspect RECIPE lists the parameters"},
      [&] { check({"0.wieght"}); });
  test::expect_error(ErrorCode::kInvalidArgument, {"did you mean '*.weight'?"},
                     [&] { check({"*.weights"}); });
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"no parameter is called 'encoder'",
                      "parameters: 0.weight, 0.bias, 1.weight"},
                     [&] { check({"encoder"}); });
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"'0.*' and '*.bias' are both for parameter '0.bias'"},
                     [&] {
                       check({"0.*", "*.bias"});
                     });
}

}  // namespace
}  // namespace weft::name_patterns_test
