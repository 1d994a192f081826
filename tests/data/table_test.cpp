#include "weft/data/table.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/batches.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"

namespace weft::table_test {
namespace {

using test::expect_error;
using test::read_rows;
using Names = std::vector<std::string>;

// Numbers stay as they are.
DatasetRef parse_plain(std::string_view text, TableOptions options = {}) {
  options.standardize = false;
  return parse_table(text, "t.csv", options);
}

TEST(ParseTable, TakesTheLastColumnForTheLabelWithoutHeader) {
  const auto data = parse_plain("1,2,cat\n3,4,ant\n5,6,cat\n");
  EXPECT_EQ(data->classes(), (Names{"ant", "cat"}));
  const auto batch = read_rows(*data, {0, 1, 2});
  EXPECT_TRUE(
      identical(batch[0], Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(identical(batch[1], Tensor::of<std::int32_t>({3}, {1, 0, 1})));
}

TEST(ParseTable, FindsTheLabelColumnByItsHeader) {
  const auto data = parse_plain("a,label,b\n1,2,3\n4,0,6\n");
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

TEST(ParseTable, FindsNumberedClassesByTheirNumbers) {
  const auto data = parse_table("1,0.0\n2,1e0\n3,+1\n4,02\n", "t.csv");
  EXPECT_EQ(data->classes(), (Names{"0", "1", "2"}));
  EXPECT_TRUE(identical(read_rows(*data, {0, 1, 2, 3})[1],
                        Tensor::of<std::int32_t>({4}, {0, 1, 1, 2})));
  for (const char* text : {"1,3\n", "1,0.5\n", "1,-1\n", "1,x\n"}) {
    expect_error(ErrorCode::kDataLoss, {"test.csv:1", "does not occur"},
                 [&] { parse_table(text, "test.csv", {}, data.get()); });
  }
  // Where they are named as categories they are texts.
  EXPECT_EQ(parse_table("n,c\n1,0\n2,00\n", "t.csv", {.categories = {"c"}})
                ->classes(),
            (Names{"0", "00"}));
}

TEST(ParseTable, RefusesNamesThatAreNoUtf8) {
  for (const char* text :
       {"a,label\n1,x\n2,caf\xe9\n", "a,label\nx,1\ncaf\xe9,0\n"}) {
    expect_error(ErrorCode::kDataLoss, {"t.csv:3", "'caf\\xe9' is no UTF-8"},
                 [&] { parse_table(text, "t.csv"); });
  }
  expect_error(ErrorCode::kDataLoss, {"t.csv:1", "no UTF-8"},
               [] { parse_table("caf\xe9,label\n1,x\n", "t.csv"); });
}

TEST(ParseTable, GivesATestPartTheClassesOfTheTrainingPart) {
  const auto train = parse_table("1,b\n2,a\n", "train.csv");
  const auto test = parse_table("3,b\n", "test.csv", {}, train.get());
  EXPECT_EQ(test->classes(), train->classes());
  EXPECT_EQ(read_rows(*test, {0})[1].item(), 1);
  expect_error(ErrorCode::kDataLoss, {"test.csv:2", "'c'"},
               [&] { parse_table("3,b\n4,c\n", "test.csv", {}, train.get()); });
  expect_error(ErrorCode::kDataLoss, {"test.csv", "columns"},
               [&] { parse_table("3,4,b\n", "test.csv", {}, train.get()); });
}

TEST(ParseTable, NamesTheLineAndColumnOfWhatIsNoNumber) {
  expect_error(ErrorCode::kDataLoss, {"t.csv:3", "'size'", "large"},
               [] { parse_table("size,label\n1,x\nlarge,y\n", "t.csv"); });
  // A single one is no more of a name.
  expect_error(ErrorCode::kDataLoss, {"t.csv:3", "column 1", "data.categories"},
               [] { parse_table("1,x\n2,y\nO,y\n3,x\n", "t.csv"); });
}

TEST(ParseTable, RefusesTablesWithoutRecordsOrFeatures) {
  expect_error(ErrorCode::kDataLoss, {"t.csv", "no records"},
               [] { parse_table("", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv", "no records"},
               [] { parse_table("a,b\n", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv:1", "one column"},
               [] { parse_table("1\n2\n", "t.csv"); });
}

TEST(ParseTable, StandardisesNumbersAndTellsMissingOnesApart) {
  // Mean 4, deviation 2.
  const auto data = parse_table("a,b,label\n2,1,x\n?,1,y\n6,1,x\n", "t.csv");
  // The numbers come first: a, b, then whether a is missing. What never varies
  // becomes 0.
  EXPECT_TRUE(
      identical(read_rows(*data, {0, 1, 2})[0],
                Tensor::of<float>({3, 3}, {-1, 0, 0, 0, 0, 1, 1, 0, 0})));
  // The test part has no say in it.
  const auto test =
      parse_table("a,b,label\n8,,y\n", "test.csv", {}, data.get());
  EXPECT_TRUE(identical(read_rows(*test, {0})[0],
                        Tensor::of<float>({1, 3}, {2, 0, 0})));
}

TEST(ParseTable, NumbersCategoriesAndKeepsAClassForMissingOnes) {
  const auto data = parse_plain("job,n,label\nmason,1,a\n,2,b\nbaker,3,a\n");
  EXPECT_EQ(data->category_counts(), std::vector<std::int64_t>{3});
  EXPECT_EQ(data->table()->columns.columns()[0].categories,
            (Names{"?", "baker", "mason"}));
  EXPECT_TRUE(identical(read_rows(*data, {0, 1, 2})[0],
                        Tensor::of<float>({3, 2}, {1, 2, 2, 0, 3, 1})));
  const auto test = parse_table("job,n,label\nsmith,1,a\nbaker,1,a\n",
                                "test.csv", {}, data.get());
  EXPECT_TRUE(identical(read_rows(*test, {0, 1})[0],
                        Tensor::of<float>({2, 2}, {1, -1, 1, 1})));
}

TEST(ParseTable, FindsColumnsOfATestPartByTheirHeader) {
  const auto train = parse_plain("a,b,label\n1,2,x\n3,4,y\n");
  const auto test =
      parse_table("label,b,a\ny,20,10\n", "test.csv", {}, train.get());
  const auto batch = read_rows(*test, {0});
  EXPECT_TRUE(identical(batch[0], Tensor::of<float>({1, 2}, {10, 20})));
  EXPECT_EQ(batch[1].item(), 1);
  expect_error(ErrorCode::kInvalidArgument, {"test.csv", "'b'"}, [&] {
    parse_table("label,c,a\ny,20,10\n", "test.csv", {}, train.get());
  });
}

TEST(ParseTable, RefusesATestPartOfOtherTypes) {
  const auto train = parse_table("1,red,x\n2,blue,y\n", "train.csv");
  expect_error(ErrorCode::kDataLoss, {"test.csv:2", "column 1", "'red'"}, [&] {
    parse_table("1,red,x\nred,red,y\n", "test.csv", {}, train.get());
  });
  expect_error(ErrorCode::kDataLoss, {"test.csv:1", "column 2", "number"},
               [&] { parse_table("1,7,x\n", "test.csv", {}, train.get()); });
  const auto targets = parse_table("1,0.5\n2,0.7\n", "train.csv");
  expect_error(ErrorCode::kDataLoss, {"test.csv:1", "'x'"},
               [&] { parse_table("1,x\n", "test.csv", {}, targets.get()); });
}

TEST(ParseTable, RefusesRaggedRowsAndLabelsThatAreMissing) {
  expect_error(ErrorCode::kDataLoss, {"t.csv:3", "2 fields"},
               [] { parse_table("a,b,label\n1,2,x\n1,2\n", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv:3", "'label'", "missing"},
               [] { parse_table("a,label\n1,x\n1,?\n", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv", "'b'", "missing"},
               [] { parse_table("a,b,label\n1,,x\n1,?,y\n", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv:1", "'a'"},
               [] { parse_table("a,a,label\n1,2,x\n", "t.csv"); });
}

TEST(ParseTable, RefusesNumbersThatNoModelCanHold) {
  expect_error(ErrorCode::kDataLoss, {"t.csv:2", "1e300", "too large"},
               [] { parse_table("1,0.5\n2,1e300\n", "t.csv"); });
  expect_error(ErrorCode::kDataLoss, {"t.csv", "column 1", "too large"},
               [] { parse_table("1e300,x\n-1e300,y\n", "t.csv"); });
  const auto train = parse_table("1,x\n2,y\n", "train.csv");
  expect_error(ErrorCode::kDataLoss, {"test.csv:1", "column 1", "too large"},
               [&] { parse_table("1e300,x\n", "test.csv", {}, train.get()); });
}

TEST(ParseTable, DoesAsTheOptionsSay) {
  const auto data = parse_plain("zip,price,note\n12,3,a\n15,4,b\n12,5,c\n",
                                {.label = {"price"},
                                 .numbers = {"price"},
                                 .categories = {"zip"},
                                 .ignore = {"note"}});
  EXPECT_TRUE(data->classes().empty());
  EXPECT_EQ(data->target_scale().mean, 4);
  EXPECT_NEAR(data->target_scale().std, std::sqrt(2.0 / 3), 1e-12);
  const auto batch = read_rows(*data, {0, 1, 2});
  EXPECT_TRUE(identical(batch[0], Tensor::of<float>({3, 1}, {0, 1, 0})));
  EXPECT_TRUE(identical(batch[1], Tensor::of<float>({3}, {3, 4, 5})));
  for (const TableOptions& wrong :
       {TableOptions{.label = {"prize"}}, TableOptions{.ignore = {"prize"}},
        TableOptions{.numbers = {"prize"}}}) {
    expect_error(ErrorCode::kInvalidArgument, {"t.csv", "'prize'", "'price'"},
                 [&] { parse_plain("zip,price,x\n1,2,a\n", wrong); });
  }
  expect_error(ErrorCode::kInvalidArgument, {"t.csv", "no column is left"},
               [] { parse_plain("zip,price\n1,2\n", {.ignore = {"zip"}}); });
  expect_error(ErrorCode::kInvalidArgument, {"'zip'"}, [] {
    parse_plain("zip,price\n1,2\n",
                {.numbers = {"zip"}, .categories = {"zip"}});
  });
}

TEST(ParseTable, TellsSeveralThingsTogether) {
  const std::string_view text = "n,job,rich\n1,baker,0\n2,mason,1\n3,smith,0\n";
  const auto data = parse_plain(text, {.label = {"job=baker", "rich"}});
  EXPECT_EQ(data->classes(), (Names{"job=baker", "rich=1"}));
  const auto batch = read_rows(*data, {0, 1, 2});
  EXPECT_TRUE(identical(batch[0], Tensor::of<float>({3, 1}, {1, 2, 3})));
  EXPECT_TRUE(
      identical(batch[1], Tensor::of<float>({3, 2}, {1, 0, 0, 1, 0, 0})));
  expect_error(ErrorCode::kInvalidArgument, {"'job'", "3 different"}, [&] {
    parse_plain(text, {.label = {"job", "rich"}});
  });
  expect_error(ErrorCode::kInvalidArgument, {"'bakre'", "'baker'"},
               [&] { parse_plain(text, {.label = {"job=bakre"}}); });
}

TEST(SplitTable, LearnsNothingFromTheRowsThatItHoldsOut) {
  // Rows 0 and 5 are held out: their numbers are in no mean, their names new.
  const auto parts = split_table(
      "900,new,x\n1,old,x\n3,old,y\n1,old,x\n3,old,y\n2,old,x\n", "t.csv");
  EXPECT_TRUE(identical(read_rows(*parts.train, {0, 1, 2, 3})[0],
                        Tensor::of<float>({4, 2}, {-1, 0, 1, 0, -1, 0, 1, 0})));
  EXPECT_TRUE(identical(read_rows(*parts.test, {0, 1})[0],
                        Tensor::of<float>({2, 2}, {898, -1, 0, 0})));
}

constexpr const char* kPerson =
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, "
    "Not-in-family, White, Male, 2174, 0, 40, ?, <=50K";

TEST(SplitTable, RefusesASingleRecord) {
  expect_error(ErrorCode::kDataLoss, {"t.csv", "single record"},
               [] { split_table("1,2,yes\n", "t.csv", {}); });
}

TEST(AdultReader, ReadsTheFilesOfThePublisherAndCopiesWithAHeader) {
  std::string rich(kPerson);
  rich.replace(rich.find("?, <=50K"), 8, "Cuba, >50K");
  for (const std::string header : {"", "age, workclass, and, so, on\n"}) {
    const test::TemporaryFolder folder;
    folder.write("adult.data",
                 fmt::format("{}{}\n{}\n\n", header, kPerson, rich));
    folder.write("adult.test",
                 fmt::format("|1x3 Cross validator\n{}.\n\n", rich));
    const auto adult =
        open_data({.name = "adult", .folder = folder.path().string()});
    EXPECT_EQ(adult.train->classes(), (Names{"<=50K", ">50K"}));
    EXPECT_EQ(adult.train->size(), 2);
    EXPECT_EQ(read_rows(*adult.test, {0})[1].item(), 1);
    // 6 numbers and 8 categories.
    EXPECT_EQ(adult.train->features()[0].type.shape, Shape{14});
    EXPECT_EQ(adult.train->category_counts().size(), 8u);
  }
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
}  // namespace weft::table_test
