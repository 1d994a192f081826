#include "weft/validation/json_rows.h"

#include <gtest/gtest.h>
#include <sstream>

#include "tests/support/errors.h"

#include "weft/validation/check.h"
#include "weft/validation/infer.h"

namespace weft::json_rows_test {
namespace {

using namespace validation;

StatisticsSummary summary_of_lines(const std::string& lines) {
  JsonRows rows(std::make_unique<std::istringstream>(lines), "test.jsonl");
  Statistics statistics;
  ColumnBatch batch;
  while (rows.next(batch)) statistics.add(batch);
  return summarize(statistics);
}

TEST(JsonRows, TellTextsFromNumbersAndNullFromEmpty) {
  const auto data = summary_of_lines(
      "{\"a\": \"1\", \"l\": [1, 2, 3], \"o\": {\"x\": true}}\n"
      "{\"a\": null, \"l\": [], \"o\": {\"x\": false}}\n"
      "\n"
      "{\"a\": \"2\", \"l\": 4}\n");
  EXPECT_EQ(data.rows, 3u);
  const FeatureSummary& a = *data.find("a");
  EXPECT_EQ(a.type, ValueType::kString);
  EXPECT_EQ(a.missing(), 1u);
  EXPECT_EQ(infer_feature(a).domain, Domain::kInteger);
  const FeatureSummary& l = *data.find("l");
  EXPECT_EQ(l.missing(), 0u);
  EXPECT_EQ(l.levels[0].least, 0);
  EXPECT_EQ(l.levels[0].most, 3);
  EXPECT_EQ(l.values, 4u);
  const FeatureSummary& x = *data.find("o.x");
  EXPECT_EQ(x.present, 2u);
  EXPECT_EQ(infer_feature(x).domain, Domain::kBool);
}

// As json.dumps() writes them. In texts and keys the words are texts.
TEST(JsonRows, TakeNumbersThatAreNone) {
  const auto data = summary_of_lines(
      R"({"x": NaN, "l": [1.5, -Infinity, 2], "NaN": "\"NaN", "n": null})"
      "\n"
      R"({"x": 2.5, "l": [NaN, Infinity], "n": Infinity})"
      "\n");
  const FeatureSummary& x = *data.find("x");
  EXPECT_EQ(x.type, ValueType::kFloat);
  EXPECT_EQ(x.numbers->nans, 1u);
  EXPECT_EQ(x.numbers->finite, 1u);
  const FeatureSummary& l = *data.find("l");
  EXPECT_EQ(l.values, 5u);
  EXPECT_EQ(l.numbers->nans, 1u);
  EXPECT_EQ(l.numbers->negative_infinities, 1u);
  EXPECT_EQ(l.numbers->positive_infinities, 1u);
  EXPECT_EQ(data.find("NaN")->type, ValueType::kString);
  EXPECT_EQ(data.find("NaN")->counts.at(0).text, "\"NaN");
  EXPECT_EQ(data.find("n")->missing(), 1u);
  for (const char* line : {R"({"x": nan})", R"({"x": -NaN})", R"({"x": NaNs})",
                           R"({"x": +Infinity})", R"({NaN: 1})"}) {
    test::expect_error(ErrorCode::kDataLoss, {"test.jsonl:1", "is no JSON"},
                       [&] { summary_of_lines(line); });
  }
}

TEST(JsonRows, ReadListsOfLists) {
  const auto data = summary_of_lines(
      "{\"m\": [[1, 2], [3, 4]]}\n{\"m\": [[5, 6], [7, 8]]}\n");
  const FeatureRule rule = infer_feature(*data.find("m"));
  EXPECT_EQ(rule.shape, (std::vector<std::int64_t>{2, 2}));
  // One row that lacks it, and a shape would be a promise too much.
  const auto gap = summary_of_lines("{\"m\": [[1]]}\n{}\n");
  EXPECT_EQ(infer_feature(*gap.find("m")).shape, std::nullopt);
}

// Lists without values do not show how deep they would be, on whichever side of
// others they stand, and in whichever part.
TEST(JsonRows, TakeEmptyListsForListsOfAnyDepth) {
  const std::string lines[] = {"{\"m\": []}\n", "{\"m\": [[]]}\n",
                               "{\"m\": [[1, 2], []]}\n"};
  for (const std::string& text :
       {lines[0] + lines[1] + lines[2], lines[2] + lines[1] + lines[0]}) {
    const auto data = summary_of_lines(text);
    const auto& levels = data.find("m")->levels;
    ASSERT_EQ(levels.size(), 2u);
    EXPECT_EQ(levels[0].least, 0);
    EXPECT_EQ(levels[0].most, 2);
    EXPECT_EQ(levels[1].least, 0);
    EXPECT_TRUE(check(infer_schema(data), {.data = data}).anomalies.empty());
  }
  Statistics whole;
  for (const std::string& text : lines) {
    JsonRows rows(std::make_unique<std::istringstream>(text), "test.jsonl");
    Statistics part;
    ColumnBatch batch;
    while (rows.next(batch)) {
      part.add(batch);
      whole.add(batch);
    }
    Statistics other = whole;
    other.merge(part);
    EXPECT_EQ(other.rows(), whole.rows() + 1);
  }
  EXPECT_EQ(summarize(whole).find("m")->levels.size(), 2u);
  EXPECT_THROW(summary_of_lines(lines[1] + "{\"m\": [1]}\n"), Error);
  EXPECT_THROW(summary_of_lines(lines[2] + "{\"m\": [[[]]]}\n"), Error);
}

TEST(JsonRows, FindListsThatAreTooShortTooLongOrTooDeep) {
  const auto data = summary_of_lines("{\"l\": [1, 2]}\n{\"l\": [1]}\n");
  Schema schema = infer_schema(data);
  const auto kinds = [&](const std::string& lines) {
    const auto other = summary_of_lines(lines);
    std::string found;
    for (const Anomaly& each : check(schema, {.data = other}).anomalies) {
      found += each.kind + " ";
    }
    return found;
  };
  schema.features[0].value_count[0].max = 2;
  EXPECT_EQ(kinds("{\"l\": [1, 2]}\n"), "");
  EXPECT_EQ(kinds("{\"l\": [1, 2, 3]}\n"), "many_values ");
  EXPECT_EQ(kinds("{\"l\": [1]}\n{\"l\": []}\n"), "few_values ");
  EXPECT_EQ(kinds("{\"l\": [[1]]}\n"), "nesting_depth ");
  // Lists without values do not show how deep they would be.
  schema.features[0].value_count = {{}, {.min = 1, .max = {}}};
  EXPECT_EQ(kinds("{\"l\": []}\n"), "");
  EXPECT_EQ(kinds("{\"l\": [1]}\n"), "nesting_depth ");
  schema.features[0].value_count.clear();
  schema.features[0].shape = {2};
  EXPECT_EQ(kinds("{\"l\": [1, 2]}\n"), "");
  EXPECT_EQ(kinds("{\"l\": [1, 2, 3]}\n"), "shape ");
  EXPECT_EQ(kinds("{\"l\": [\"1\", \"2\"]}\n"), "wrong_type ");
}

// What is inferred of texts among numbers allows them both.
TEST(JsonRows, OfSeveralTypesAreAllowedByTheirOwnSchema) {
  for (const char* lines :
       {"{\"l\": 1}\n{\"l\": \"a\"}\n", "{\"l\": 1.5}\n{\"l\": \"2\"}\n",
        "{\"l\": true}\n{\"l\": 7}\n"}) {
    const auto data = summary_of_lines(lines);
    EXPECT_TRUE(check(infer_schema(data), {.data = data}).anomalies.empty())
        << lines;
    // A new column is inferred in the same way.
    const Schema repaired = check(Schema(), {.data = data}).repaired;
    EXPECT_TRUE(check(repaired, {.data = data}).anomalies.empty()) << lines;
  }
}

TEST(JsonRows, RefuseWithTheLine) {
  const auto refusal = [](const std::string& line) -> std::string {
    try {
      summary_of_lines("{\"l\": [1]}\n" + line + "\n");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
      return error.what();
    }
    return "accepted";
  };
  for (const char* line :
       {"[1]", "{", "{\"a\": 1, \"a\": 2}", "{\"l\": [{}]}", "{\"l\": [[1]]}",
        "{\"l\": [null]}", "{\"o\": {\"a\": 1}, \"o.a\": 2}",
        "{\"l\": [1, [2]]}", "{\"a\": \"\xff\"}"}) {
    EXPECT_EQ(refusal(line).substr(0, 13), "test.jsonl:2:") << line;
  }
  std::string deep = "{\"a\": ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  EXPECT_NE(refusal(deep), "accepted");
}

}  // namespace
}  // namespace weft::json_rows_test
