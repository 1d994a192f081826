#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/base/call_reader.h"

namespace weft::split_values_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string_view> split(std::string_view text) {
  return split_values(text, "list");
}

TEST(SplitValues, SeparatesAtCommasOfTheOutside) {
  EXPECT_THAT(split("0.1"), ElementsAre("0.1"));
  EXPECT_THAT(split("0.1, 1e-3 ,0"), ElementsAre("0.1", "1e-3", "0"));
  EXPECT_THAT(split("qsgd(4, bucket=64),3lc"),
              ElementsAre("qsgd(4, bucket=64)", "3lc"));
  EXPECT_THAT(split("f(g(1, 2), 3), [1, [2, 3]],{a = 1, b = 2}"),
              ElementsAre("f(g(1, 2), 3)", "[1, [2, 3]]", "{a = 1, b = 2}"));
  EXPECT_THAT(split(R"("a,b",'c,"',"d\",")"),
              ElementsAre(R"("a,b")", R"('c,"')", R"("d\",")"));
}

// Whoever reads the value says better what is wrong with it.
TEST(SplitValues, LeavesWhatIsNotClosedWhole) {
  for (const char* text :
       {"f(1, 2", "[1, 2", "\"a, b", "f(1], 2", "it's, me"}) {
    EXPECT_THAT(split(text), ElementsAre(text));
  }
  EXPECT_THAT(split("1), 2"), ElementsAre("1)", "2"));
}

TEST(SplitValues, RefusesAnEmptyValueAmongOthers) {
  EXPECT_THAT(split(""), ElementsAre(""));
  for (const char* text : {",", "1,", ",1", "1, ,2"}) {
    test::expect_error(ErrorCode::kInvalidArgument, {"list", "due here", "^"},
                       [&] { split(text); });
  }
}

}  // namespace
}  // namespace weft::split_values_test
