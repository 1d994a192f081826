#include "weft/data/csv.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::csv_test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows read_all(std::string_view text) {
  CsvReader reader(text, "table.csv");
  Rows rows;
  std::vector<std::string> fields;
  while (reader.next(fields)) rows.push_back(fields);
  return rows;
}

void expect_damage(std::string_view text, const std::string& line) {
  test::expect_error(ErrorCode::kDataLoss, {"table.csv:" + line},
                     [&] { read_all(text); });
}

TEST(CsvReader, ReadsPlainFieldsAndTrimsBlanks) {
  EXPECT_EQ(read_all("a, b ,c\n1,,3"), (Rows{{"a", "b", "c"}, {"1", "", "3"}}));
}

TEST(CsvReader, ReadsQuotedFields) {
  EXPECT_EQ(read_all("\"a,b\",\"say \"\"no\"\"\"\n\"two\nlines\", \"x\" \n"),
            (Rows{{"a,b", "say \"no\""}, {"two\nlines", "x"}}));
}

TEST(CsvReader, TakesEveryLineEndAndSkipsEmptyLines) {
  EXPECT_EQ(read_all("\n1,2\r\n\r\n3,4\n\n"), (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(read_all(""), Rows{});
}

TEST(CsvReader, SkipsAByteOrderMark) {
  EXPECT_EQ(read_all("\xef\xbb\xbf"
                     "a,b"),
            (Rows{{"a", "b"}}));
}

TEST(CsvReader, KnowsTheLineOfARecord) {
  CsvReader reader("a\n\n\"x\ny\"\nb\n", "table.csv");
  std::vector<std::string> fields;
  std::vector<std::size_t> lines;
  while (reader.next(fields)) lines.push_back(reader.line());
  EXPECT_EQ(lines, (std::vector<std::size_t>{1, 3, 5}));
}

TEST(CsvReader, NamesTheLineOfDamage) {
  expect_damage("a,b\n\"open,c\nd,e\n", "2");
  expect_damage("a,b\n\"x\"y,c\n", "2");
  expect_damage("a,b\nx\"y,c\n", "2");
  expect_damage("a,b\nc,d\ne\n", "3");
  expect_damage("a,b\nc,d,e\n", "2");
  expect_damage(std::string_view("a,b\nc,\0\n", 8), "2");
}

TEST(ParseNumber, TakesWholeFiniteNumbersOnly) {
  double value = 0;
  EXPECT_TRUE(parse_number("-1.5e3", value));
  EXPECT_EQ(value, -1500);
  EXPECT_TRUE(parse_number("+7", value));
  EXPECT_EQ(value, 7);
  // What is nearer to 0 than to any other double is 0.
  EXPECT_TRUE(parse_number("1e-310", value));
  EXPECT_EQ(value, 1e-310);
  for (const char* text : {"1e-400", "-1e-400", "+2e-324"}) {
    value = 7;
    EXPECT_TRUE(parse_number(text, value)) << text;
    EXPECT_EQ(value, 0) << text;
  }
  for (const char* text : {"", "1x", "x", "nan", "inf", "1e400", "-1e999",
                           "1e-400x", "0x10", "1 2", "+-5"}) {
    EXPECT_FALSE(parse_number(text, value)) << text;
  }
}

}  // namespace
}  // namespace weft::csv_test
