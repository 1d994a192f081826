#include "weft/data/number_column.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "weft/data/records.h"

namespace weft::number_column_test {
namespace {

std::string text(const NumberColumn& column, std::size_t row) {
  NumberText memory;
  return std::string(column.text(row, memory));
}

TEST(NumberColumn, KeepsWholeNumbersThatNoDoubleHas) {
  NumberColumn column;
  column.values = std::vector<std::int64_t>{(1LL << 53) + 1, -7, 0};
  column.is_known = {1, 1, 0};
  EXPECT_EQ(text(column, 0), "9007199254740993");
  double value = 0;
  EXPECT_TRUE(column.number(1, value));
  EXPECT_EQ(value, -7);
  EXPECT_TRUE(column.is_missing(2));
  EXPECT_FALSE(column.number(2, value));
  EXPECT_EQ(text(column, 2), "");
}

// As the texts "nan" and "inf" in a CSV file.
TEST(NumberColumn, NanIsMissingAndInfinityNoNumber) {
  NumberColumn column;
  column.values = std::vector<double>{
      std::nan(""), std::numeric_limits<double>::infinity(), 0.1};
  column.is_known = {1, 1, 1};
  double value = 0;
  EXPECT_TRUE(column.is_missing(0));
  EXPECT_FALSE(column.is_missing(1));
  EXPECT_FALSE(column.number(1, value));
  EXPECT_EQ(text(column, 1), "inf");
  EXPECT_EQ(text(column, 2), "0.1");
}

// What a CSV file with the float's text is read as.
TEST(NumberColumn, FloatsAreWhatTheirTextsSay) {
  EXPECT_EQ(number_of_float(0.1F), 0.1);
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (i % 4 == 0) value = static_cast<float>(static_cast<int>(random()));
    if (!std::isfinite(value)) continue;
    char digits[64];
    const char* end = std::to_chars(digits, digits + 64, value).ptr;
    double told = 0;
    std::from_chars(digits, end, told);
    ASSERT_EQ(number_of_float(value), told) << value;
    // Also as a category its text is the float's.
    NumberColumn column;
    column.values = std::vector<double>{number_of_float(value)};
    column.is_known = {1};
    ASSERT_EQ(text(column, 0), std::string_view(digits, end));
  }
}

TEST(NumberColumn, StandsBesideTextsInRecords) {
  const std::size_t numbers[] = {1};
  Records records("f", {"a", "b", "c"}, numbers);
  records.numbers(1).values = std::vector<std::uint64_t>{5, 6};
  records.numbers(1).is_known = {1, 0};
  records.add(std::vector<std::string_view>{"x", "", "1.5"}, 1);
  records.add(std::vector<std::string_view>{"y", "", "NA"}, 2);
  NumberText memory;
  EXPECT_EQ(records.text(0, 1, memory), "5");
  EXPECT_EQ(records.text(1, 0, memory), "y");
  EXPECT_EQ(records.field(0, 2), "1.5");
  double value = 0;
  EXPECT_TRUE(records.number(0, 2, value));
  EXPECT_EQ(value, 1.5);
  EXPECT_TRUE(records.is_missing(1, 1));
  EXPECT_TRUE(records.is_missing(1, 2));
}

}  // namespace
}  // namespace weft::number_column_test
