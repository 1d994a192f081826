// Words of texts that are in a vocabulary.
#include "weft/validation/vocabulary.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/validation/tables.h"

#include "weft/validation/check.h"
#include "weft/validation/example_check.h"
#include "weft/validation/examples.h"
#include "weft/validation/schema_text.h"

namespace weft::vocabulary_test {
namespace {

using namespace validation;
using test::expect_error;
using test::summary_of_table;

TEST(Vocabulary, SplitsTextsIntoWords) {
  const Vocabulary known({"All", "is", "don't", "größe", "42"});
  const auto counted = [&](std::string_view text) {
    const WordCounts counts = known.count(text);
    return std::pair(counts.known, counts.words);
  };
  EXPECT_EQ(counted("all IS well"), std::pair(2ul, 3ul));
  EXPECT_EQ(counted("...don't-42,größe!"), std::pair(3ul, 3ul));
  EXPECT_EQ(counted("GRÖßE"), std::pair(0ul, 1ul));  // beyond ASCII as it is
  EXPECT_EQ(counted(" .,;"), std::pair(0ul, 0ul));
  EXPECT_EQ(WordCounts().coverage(), 1);
  EXPECT_EQ(known.unknown("All was well."),
            (std::vector<std::string>{"was", "well"}));
  // What a value is cut to is all that is looked at.
  EXPECT_EQ(known.count(std::string(600, 'x') + " all").words, 1u);
}

constexpr const char* kSchema = R"([feature.x]
type = "string"
vocabulary = "known"
min_coverage = 0.8

[values.known]
list = ["all", "is", "well"]
)";

StatisticsSummary counted(const Schema& schema, const std::string& table,
                          std::size_t exact = 4096) {
  return summary_of_table(table,
                          statistics_options(schema, {.exact_values = exact}));
}

TEST(Vocabulary, IsHeldAgainstTheShareOfAllWords) {
  const Schema schema = parse_schema(kSchema, "test");
  // 8 of 10 words, though half of the values have one that is not known.
  const auto enough =
      counted(schema, test::table_of({{"all is well", 2}, {"ill is", 2}}));
  EXPECT_EQ(enough.find("x")->words->words, 10u);
  EXPECT_EQ(enough.find("x")->words->known, 8u);
  EXPECT_TRUE(check(schema, {.data = enough}).anomalies.empty());
  const auto low =
      counted(schema, test::table_of({{"all is well", 1}, {"ill was he", 2}}));
  const CheckReport report = check(schema, {.data = low});
  ASSERT_EQ(report.anomalies.size(), 1u);
  EXPECT_EQ(report.anomalies[0].kind, "low_coverage");
  EXPECT_EQ(report.anomalies[0].detail,
            "3 of 9 words (33.3 %) are in the vocabulary, and 80 % are due; "
            "not: 'he', 'ill', 'was'");
  EXPECT_EQ(report.repaired.find("x")->min_coverage, 0.3333);
  EXPECT_TRUE(check(report.repaired, {.data = low}).anomalies.empty());
  // Nothing known at all: no share is left to ask for.
  const auto none = counted(schema, test::table_of({{"ill", 3}}));
  EXPECT_EQ(check(schema, {.data = none}).repaired.find("x")->vocabulary, "");
}

// Beyond the values that are counted exactly, and in whatever parts.
TEST(Vocabulary, CountsTheSameWhateverThePartsAndHowMany) {
  const Schema schema = parse_schema(kSchema, "test");
  std::string table = "x\n";
  for (int i = 0; i < 500; ++i) {
    table += fmt::format("all is well {}\n", i);
  }
  const auto exact = counted(schema, table);
  const auto sketched = counted(schema, table, /*exact=*/8);
  EXPECT_FALSE(sketched.find("x")->is_exact);
  EXPECT_EQ(exact.find("x")->words->words, 2000u);
  EXPECT_EQ(exact.find("x")->words->known, 1500u);
  EXPECT_EQ(sketched.find("x")->words->words, 2000u);
  EXPECT_EQ(sketched.find("x")->words->known, 1500u);

  Statistics whole(statistics_options(schema, {.exact_values = 8}));
  for (const char* part : {"x\nall is\nis\n", "x\nwell done\n", "x\nill\n"}) {
    CsvRows rows(part, "part.csv", "yes");
    Statistics statistics(whole.options());
    ColumnBatch batch;
    while (rows.next(batch)) statistics.add(batch);
    whole.merge(Statistics::from_bytes(statistics.to_bytes(), "part"));
  }
  const auto words = *summarize(whole).find("x")->words;
  EXPECT_EQ(words.words, 6u);
  EXPECT_EQ(words.known, 4u);
}

TEST(Vocabulary, CannotBeToldFromStatisticsWithoutIt) {
  const Schema schema = parse_schema(kSchema, "test");
  const auto without = summary_of_table("x\nall is well\n");
  const CheckReport report = check(schema, {.data = without});
  ASSERT_EQ(report.anomalies.size(), 1u);
  EXPECT_NE(report.anomalies[0].detail.find("count the data with the schema"),
            std::string::npos);
}

TEST(Vocabulary, StandsInTheTextOfASchema) {
  const Schema schema = parse_schema(kSchema, "test");
  EXPECT_EQ(parse_schema(to_toml(schema), "again"), schema);
  const auto refused = [](const std::string& text, const std::string& why) {
    expect_error(ErrorCode::kInvalidArgument, {why},
                 [&] { parse_schema(text, "test"); });
  };
  refused("[feature.x]\nvocabulary = \"words\"\n",
          "there is no [values.words]");
  refused("[feature.x]\nmin_coverage = 0.5\n", "it is of a vocabulary");
  // Numbers have no words.
  Schema numbers = schema;
  numbers.find("x")->type = ValueType::kInt;
  const CheckReport report =
      check(numbers, {.data = counted(numbers, "x\n1\n2\n")});
  ASSERT_EQ(report.anomalies.size(), 1u);
  EXPECT_EQ(report.anomalies[0].kind, "domain_type");
  EXPECT_EQ(report.repaired.find("x")->vocabulary, "");
}

// Programs are fuzzed with texts that they know the words of; a single row is
// not held to a share.
TEST(Vocabulary, GivesExamplesOfItsWords) {
  Schema schema = parse_schema(kSchema, "test");
  schema.find("x")->domain = Domain::kLanguage;
  const Examples examples =
      make_examples(schema, 50, /*seed=*/1, "", ExampleFormat::kCsv);
  const Vocabulary known(schema.value_lists["known"]);
  for (const auto& row : examples.rows) {
    if (!row[0]) continue;
    EXPECT_EQ(known.count(row[0]->text).coverage(), 1) << row[0]->text;
    EXPECT_TRUE(is_language(row[0]->text));
  }
  schema.find("x")->domain = Domain::kAny;
  CsvRows rows("x\nquite ill\n", "test.csv", "yes");
  EXPECT_TRUE(check_examples(schema, rows, {}).empty());
}

}  // namespace
}  // namespace weft::vocabulary_test
