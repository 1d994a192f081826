#include "weft/validation/csv_rows.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/base/philox.h"
#include "weft/data/csv.h"

namespace weft::csv_rows_test {
namespace {

using namespace validation;

// The fields of all records; a missing one is "<none>".
std::vector<std::vector<std::string>> records_of(
    std::string_view text, const std::string& header = "no") {
  CsvRows rows(text, "test.csv", header);
  std::vector<std::vector<std::string>> records;
  ColumnBatch batch;
  while (rows.next(batch)) {
    const std::size_t first = records.size();
    records.resize(first + static_cast<std::size_t>(batch.rows));
    for (const Column& column : batch.columns) {
      std::size_t next = 0;
      for (std::size_t row = 0; row < column.levels[0].size(); ++row) {
        records[first + row].push_back(
            column.levels[0][row] < 0 ? "<none>"
                                      : std::string(column.values[next++]));
      }
    }
  }
  return records;
}

std::string refusal_of(std::string_view text,
                       const std::string& header = "no") {
  try {
    records_of(text, header);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    return error.what();
  }
  return "accepted";
}

TEST(CsvRows, ReadQuotesBlanksAndGaps) {
  const auto records = records_of(
      "\xef\xbb\xbf 1 ,\"a, \"\"b\"\"\"\r\n\n2,?\n3,\"two\nlines\" \n4,NA");
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0], (std::vector<std::string>{"1", "a, \"b\""}));
  EXPECT_EQ(records[1], (std::vector<std::string>{"2", "<none>"}));
  EXPECT_EQ(records[2], (std::vector<std::string>{"3", "two\nlines"}));
  EXPECT_EQ(records[3], (std::vector<std::string>{"4", "<none>"}));
}

// The reader of training tables is slower, and its grammar is the same.
TEST(CsvRows, ReadWhatTheReaderOfTrainingReads) {
  constexpr std::string_view kPieces[] = {
      "a", "12",   ",", "\n", "\"x\"",    "\"y,\n\"\"z\"",
      " ", "\r\n", ",", "-3", "\xc3\xa9", "long text of words"};
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const RandomStream random{.seed = seed};
    std::string text;
    for (std::uint64_t i = 0; i < 2 + seed % 23; ++i) {
      text += kPieces[random.word(i) % std::size(kPieces)];
    }
    std::vector<std::vector<std::string>> expected;
    bool is_refused = false;
    try {
      CsvReader reader(text, "test.csv");
      std::vector<std::string> fields;
      while (reader.next(fields)) {
        expected.push_back(fields);
        for (std::string& field : expected.back()) {
          if (field.empty()) field = "<none>";
        }
      }
    } catch (const Error&) {
      is_refused = true;
    }
    if (is_refused || expected.empty()) {
      EXPECT_NE(refusal_of(text), "accepted") << text;
    } else {
      ++accepted;
      EXPECT_EQ(records_of(text), expected) << text;
    }
  }
  EXPECT_GT(accepted, 300);
}

TEST(CsvRows, ReadRecordsAcrossBuffers) {
  std::string text;
  const std::string word(997, 'w');
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format("{},\"{}\n\",{}\n", i, word, i % 7 == 0 ? "" : "x");
  }
  const auto records = records_of(text);
  ASSERT_EQ(records.size(), 3000u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i][0], fmt::format("{}", i));
    EXPECT_EQ(records[i][1], word + "\n");
  }
  // One record is larger than a buffer.
  const std::string large(1 << 20, 'l');
  EXPECT_EQ(records_of(large + ",1\n2,3\n")[0][0], large);
}

TEST(CsvRows, RefuseWithTheLine) {
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(refusal_of("1,2\n3\n"), "test.csv:2: 1 fields");
  contains(refusal_of("1,2\n3,4,5\n"), "test.csv:2: more fields than the 2");
  contains(refusal_of("1\n\"x\n"), "test.csv:2: a quote that is opened here");
  contains(refusal_of("1\nx\"y\n"), "test.csv:2: a quote in the middle");
  contains(refusal_of("1\n\"x\"y\n"), "test.csv:2: 'y' behind a closing quote");
  contains(refusal_of(std::string_view("1\n\0\n", 4)), "test.csv:2: a zero");
  contains(refusal_of("a,b,a\n1,2,3\n", "yes"), "two columns are called 'a'");
  contains(refusal_of(""), "the file is empty");
  contains(refusal_of("\n\n"), "the file is empty");
}

TEST(CsvRows, RefuseABombInBoundedMemory) {
  std::string text = "a\n\"";
  text.append(40 << 20, 'x');
  EXPECT_NE(refusal_of(text).find("a record of more than 16 MiB"),
            std::string::npos);
}

TEST(CsvRows, FindTheHeader) {
  EXPECT_EQ(records_of("a,b\n1,2\n", "auto").size(), 1u);
  EXPECT_EQ(records_of("1,b\n1,2\n", "auto").size(), 2u);
  EXPECT_EQ(records_of("1,b\n1,2\n", "yes").size(), 1u);
  // A header alone is a table of no rows.
  EXPECT_EQ(records_of("a,b\n", "yes").size(), 0u);
}

}  // namespace
}  // namespace weft::csv_rows_test
