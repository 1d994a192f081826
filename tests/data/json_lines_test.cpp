#include "weft/data/json_lines.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"
#include "weft/data/table.h"

namespace weft::json_lines_test {
namespace {

using test::expect_error;

TEST(JsonLines, BecomeRecords) {
  const JsonLines lines = read_json_lines(
      "{\"size\": 1.5, \"name\": \"a \\\"b\\\", c\\nd\"}\n\n"
      "{\"name\": null, \"is_new\": true}\r\n{\"size\": -2e3}",
      "t.jsonl");
  EXPECT_EQ(lines.names, (std::vector<std::string>{"size", "name", "is_new"}));
  EXPECT_EQ(lines.csv, "1.5,\"a \"\"b\"\", c\nd\",\n,,true\n-2000.0,,\n");
}

// Texts that differ in a line feed alone are two, and lines are the file's.
TEST(JsonLines, KeepLineFeedsAndTheirPlaces) {
  const test::TemporaryFolder folder;
  folder.write("t.jsonl",
               "{\"size\": 1, \"label\": \"a\\nb\"}\n\n"
               "{\"size\": 2, \"label\": \"a b\"}\n");
  const auto open = [&] {
    return open_data({.name = "json_lines", .folder = folder / "t.jsonl"});
  };
  EXPECT_EQ(open().train->classes(), (std::vector<std::string>{"a\nb", "a b"}));
  folder.write("t.jsonl",
               "{\"size\": 1, \"label\": \"a\\nb\"}\n\n"
               "{\"size\": 2, \"label\": \"a b\"}\n"
               "{\"size\": \"x\", \"label\": \"a b\"}\n");
  expect_error(ErrorCode::kDataLoss, {"t.jsonl:4", "'x'"}, open);
}

TEST(JsonLines, KeepTheOrderOfNames) {
  const JsonLines lines =
      read_json_lines("{\"b\": 1, \"a\": 2}\n", "t.jsonl", {"a", "b"});
  EXPECT_EQ(lines.csv, "2,1\n");
  expect_error(ErrorCode::kDataLoss, {"t.jsonl:1", "'c'", "has not"}, [] {
    read_json_lines("{\"c\": 1}\n", "t.jsonl", {"a", "b"});
  });
}

TEST(JsonLines, DamageIsNamedByLine) {
  for (const auto& [text, said] :
       std::vector<std::pair<std::string, std::string>>{
           {"{\"a\": 1}\n{\"a\": 1, \"a\": 2}", "'a' twice"},
           {"{\"a\": 1}\n[1]", "is no object"},
           {"{\"a\": 1}\n{\"a\": \"\\u0000\"}", "a zero byte"},
           {"{\"a\": 1}\n{\"a\": ", "is no JSON"},
           {"{\"a\": 1}\n{\"a\": [1]}", "a list as 'a'"},
           {"{\"a\": 1}\n{\"a\": {}}", "object as 'a'"}}) {
    expect_error(ErrorCode::kDataLoss, {"t.jsonl:2", said},
                 [&, line = text] { read_json_lines(line, "t.jsonl"); });
  }
}

TEST(JsonLinesReader, ReadsTheTestPartAsTheTrainingPart) {
  const test::TemporaryFolder folder;
  folder.write("train.jsonl",
               "{\"size\": 1, \"kind\": \"a\", \"label\": \"x\"}\n"
               "{\"size\": 3, \"kind\": \"b\", \"label\": \"y\"}\n");
  folder.write("test.jsonl",
               "{\"label\": \"y\", \"kind\": \"b\", \"size\": 2}\n");
  const auto splits =
      open_data({.name = "json_lines", .folder = folder.path()});
  EXPECT_EQ(splits.train->classes(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(splits.test->size(), 1);
  Tensor row = Tensor::zeros({DType::kF32, {1, 2}});
  Tensor label = Tensor::zeros({DType::kI32, {1}});
  const std::int64_t first = 0;
  splits.test->read({&first, 1}, std::vector{row.view(), label.view()});
  EXPECT_FLOAT_EQ(static_cast<float>(row.item(0)), 0);
  EXPECT_EQ(row.item(1), 1);
  EXPECT_EQ(label.item(0), 1);
}

}  // namespace
}  // namespace weft::json_lines_test
