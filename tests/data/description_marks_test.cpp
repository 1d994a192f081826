#include "weft/data/description_marks.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/data/table.h"

namespace weft::description_marks_test {
namespace {

using test::expect_error;

std::shared_ptr<const Dataset> table(const std::string& text) {
  return parse_table(text, "people.csv");
}

constexpr const char* kPeople =
    "height,colour,likes\n170,red,no\n180,blue,yes\n";

TEST(DescriptionMarks, AreThoseOfDataThatMeanTheSame) {
  EXPECT_EQ(differing(marks_of(*table(kPeople)), marks_of(*table(kPeople))),
            std::vector<std::string>());
  check_marks(marks_of(*table(kPeople)), *table(kPeople), "run");
  // A checkpoint of before has none.
  check_marks({}, *table(kPeople), "run");
}

TEST(DescriptionMarks, TellWhatDiffers) {
  const auto marks = marks_of(*table(kPeople));
  const auto changed = [&](const char* text) {
    return differing(marks, marks_of(*table(text)));
  };
  EXPECT_EQ(changed("height,colour,likes\n170,red,maybe\n180,blue,yes\n"),
            std::vector<std::string>{"classes"});
  EXPECT_EQ(changed("height,colour,likes\n170,red,no\n180,green,yes\n"),
            std::vector<std::string>{"table"});
  // The scale of a column; its first six digits count.
  EXPECT_EQ(changed("height,colour,likes\n170,red,no\n190,blue,yes\n"),
            std::vector<std::string>{"table"});
  EXPECT_EQ(changed("height,colour,likes\n170,red,no\n180.0000001,blue,yes\n"),
            std::vector<std::string>());
}

TEST(DescriptionMarks, AreRefusedByName) {
  expect_error(
      ErrorCode::kInvalidArgument, {"run/best", "other data", "classes"}, [&] {
        check_marks(
            marks_of(*table(kPeople)),
            *table("height,colour,likes\n170,red,maybe\n180,blue,yes\n"),
            "run/best");
      });
}

}  // namespace
}  // namespace weft::description_marks_test
