#include "weft/data/table.h"

#include <gtest/gtest.h>

#include "tests/support/batches.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"

namespace weft {
namespace {

using test::expect_error;
using test::read_rows;
using Names = std::vector<std::string>;

TEST(ParseTable, TakesTheLastColumnForTheLabelWithoutHeader) {
  const auto data = parse_table("1,2,cat\n3,4,ant\n5,6,cat\n", "t.csv");
  EXPECT_EQ(data->classes(), (Names{"ant", "cat"}));
  const auto batch = read_rows(*data, {0, 1, 2});
  EXPECT_TRUE(
      identical(batch[0], Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(identical(batch[1], Tensor::of<std::int32_t>({3}, {1, 0, 1})));
}

TEST(ParseTable, FindsTheLabelColumnByItsHeader) {
  const auto data = parse_table("a,label,b\n1,2,3\n4,0,6\n", "t.csv");
  EXPECT_EQ(data->classes(), (Names{"0", "1", "2"}));
  const auto batch = read_rows(*data, {0, 1});
  EXPECT_TRUE(identical(batch[0], Tensor::of<float>({2, 2}, {1, 3, 4, 6})));
  EXPECT_TRUE(identical(batch[1], Tensor::of<std::int32_t>({2}, {2, 0})));
}

TEST(ParseTable, TakesFractionsForRegressionTargets) {
  const auto data = parse_table("1,0.5\n2,-1\n", "t.csv");
  EXPECT_TRUE(data->classes().empty());
  EXPECT_TRUE(identical(read_rows(*data, {0, 1})[1],
                        Tensor::of<float>({2}, {0.5f, -1.0f})));
}

TEST(ParseTable, TakesHugeNumbersForTargetsAndNotForClasses) {
  EXPECT_TRUE(parse_table("1,60000\n2,1\n", "t.csv")->classes().empty());
  EXPECT_TRUE(parse_table("1,4000000000\n2,1\n", "t.csv")->classes().empty());
}

TEST(ParseTable, GivesATestPartTheClassesOfTheTrainingPart) {
  const auto train = parse_table("1,b\n2,a\n", "train.csv");
  const auto test = parse_table("3,b\n", "test.csv", train.get());
  EXPECT_EQ(test->classes(), train->classes());
  EXPECT_EQ(read_rows(*test, {0})[1].item(), 1);
  expect_error(ErrorCode::kDataLoss, {"test.csv:2", "'c'"},
               [&] { parse_table("3,b\n4,c\n", "test.csv", train.get()); });
  expect_error(ErrorCode::kDataLoss, {"test.csv", "columns"},
               [&] { parse_table("3,4,b\n", "test.csv", train.get()); });
}

TEST(ParseTable, NamesTheLineAndColumnOfWhatIsNoNumber) {
  expect_error(ErrorCode::kDataLoss, {"t.csv:3", "'size'", "large"},
               [] { parse_table("size,label\n1,x\nlarge,y\n", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv:2", "column 1"},
               [] { parse_table("1,x\n,y\n", "t.csv"); });
}

TEST(ParseTable, RefusesTablesWithoutRecordsOrFeatures) {
  expect_error(ErrorCode::kDataLoss, {"t.csv", "no records"},
               [] { parse_table("", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv", "no records"},
               [] { parse_table("a,b\n", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv:1", "one column"},
               [] { parse_table("1\n2\n", "t.csv"); });
}

TEST(CsvReaderSet, OpensASingleFileOrTwo) {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 10; ++i) text += fmt::format("{},{}\n", i, i % 2);
  folder.write("one/data.csv", text);
  const auto single = open_data({.name = "csv", .folder = folder / "one"});
  EXPECT_EQ(single.train->size(), 8);
  EXPECT_EQ(single.test->size(), 2);
  const auto direct =
      open_data({.name = "csv", .folder = folder / "one/data.csv"});
  EXPECT_EQ(direct.train->size(), 8);

  folder.write("two/train.csv", text);
  folder.write("two/test.csv", text);
  const auto two = open_data({.name = "csv", .folder = folder / "two"});
  EXPECT_EQ(two.train->size(), 10);
  EXPECT_EQ(two.test->size(), 10);
}

}  // namespace
}  // namespace weft
