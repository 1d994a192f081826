#include "weft/validation/value_forms.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/validation/tables.h"

#include "weft/validation/check.h"
#include "weft/validation/examples.h"
#include "weft/validation/image_text.h"
#include "weft/validation/infer.h"
#include "weft/validation/schema_text.h"
#include "weft/validation/time_text.h"

namespace weft::value_forms_test {
namespace {

using namespace validation;
using test::summary_of_table;

// The formats of a text, each followed by a blank.
std::string formats_of_text(std::string_view text) {
  const TimeFormatsOf found = time_formats_of(text);
  std::string formats;
  for (std::size_t i = 0; i < found.count; ++i) {
    formats += time_formats()[found.places[i]].name + "|";
  }
  return formats;
}

std::string formats_of_integer(std::int64_t value) {
  const TimeFormatsOf found = time_formats_of(value);
  return found.count == 0 ? "" : time_formats()[found.places[0]].name;
}

TEST(ValueForms, TellsTimesByTheirFormats) {
  EXPECT_EQ(formats_of_text("2024-02-29"), "%Y-%m-%d|");
  EXPECT_EQ(formats_of_text("2023-02-29"), "");
  EXPECT_EQ(formats_of_text("2100-02-29"), "");
  EXPECT_EQ(formats_of_text("12/31/2024"), "%m/%d/%Y|");
  EXPECT_EQ(formats_of_text("31/12/2024"), "%d/%m/%Y|");
  EXPECT_EQ(formats_of_text("3/4/2024"), "%m/%d/%Y|%d/%m/%Y|");
  EXPECT_EQ(formats_of_text("31.12.2024 23:59"), "%d.%m.%Y %H:%M|");
  EXPECT_EQ(formats_of_text("2024-05-06T07:08:60.123456Z"),
            "%Y-%m-%dT%H:%M:%S%z|");
  EXPECT_EQ(formats_of_text("2024-05-06 07:08:09+0530"),
            "%Y-%m-%d %H:%M:%S%z|");
  EXPECT_EQ(formats_of_text("9:05"), "%H:%M|");
  EXPECT_EQ(formats_of_text("23:59:59.5"), "%H:%M:%S|");
  for (const char* text :
       {"", "24:00", "12:60", "1:2:3:4", "2024-13-01", "2024-00-10", "10-20",
        "2024-05/06", "0000-01-01", "2024-05-06 ", "2024-05-06T", "12.5.20",
        "2024-05-06T07:08:09.", "2024-05-06T07:08:09+5", "1999-1-1-1"}) {
    EXPECT_EQ(formats_of_text(text), "") << text;
  }
}

TEST(ValueForms, TellsIntegersThatAreTimes) {
  EXPECT_EQ(formats_of_integer(20240229), "%Y%m%d");
  EXPECT_EQ(formats_of_integer(20230229), "");
  EXPECT_EQ(formats_of_integer(1700000000), "unix_seconds");
  EXPECT_EQ(formats_of_integer(1700000000000), "unix_milliseconds");
  EXPECT_EQ(formats_of_integer(1700000000000000), "unix_microseconds");
  EXPECT_EQ(formats_of_integer(1700000000000000000), "unix_nanoseconds");
  // Census tracts of Chicago, and what is before 1990.
  for (const std::int64_t value :
       {std::int64_t{17031081700}, std::int64_t{631151999}, std::int64_t{-1},
        std::int64_t{0}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(formats_of_integer(value), "") << value;
  }
}

TEST(ValueForms, WritesTimesAsItReadsThem) {
  for (const TimeFormat& format : time_formats()) {
    for (const std::string& text :
         form_examples(FormKind::kTime, format.name, format.is_of_integers)) {
      EXPECT_TRUE(has_form(FormKind::kTime, format.name, text, false))
          << format.name << " " << text;
    }
  }
  EXPECT_EQ(time_text("%d.%m.%Y %H:%M:%S%z", 951782399),
            "28.02.2000 23:59:59Z");
}

TEST(ValueForms, TellsImagesByTheirSignatures) {
  for (std::size_t i = 0; i < image_formats().size(); ++i) {
    const std::string text(pixel_text(image_formats()[i]));
    EXPECT_EQ(image_format_of(text), i);
    EXPECT_EQ(image_format_of("data:image/x;base64," + text), i);
    // Only the beginning is kept of a long one.
    EXPECT_EQ(image_format_of(text.substr(0, 24)), i);
    EXPECT_EQ(image_format_of(text.substr(0, 30) + "!"),
              image_formats().size());
  }
  for (const char* text :
       {"", "Qk1", "Qk1CCCCCCCCCCCCCCCCC", "UklGRiQAAABXQVZFUklGRiQA",
        "data:image/png,iVBORw0KGgoAAAANSUhEUgAA", "cat.png"}) {
    EXPECT_EQ(image_format_of(text), image_formats().size()) << text;
  }
}

TEST(ValueForms, TellsSentences) {
  EXPECT_TRUE(is_language("all is well"));
  EXPECT_TRUE(is_language("Größe ist nicht alles, sagte sie."));
  EXPECT_TRUE(is_language("это очень просто"));
  for (const char* text :
       {"", "   ", "two words", "a b c d", "1000 2000 3000 4000",
        "internationalization standardization committees"}) {
    EXPECT_FALSE(is_language(text)) << text;
  }
}

TEST(ValueForms, CountsTheSameInParts) {
  const std::vector<std::pair<std::string, bool>> values = {
      {"2024-05-06", false},
      {"3/4/2024", false},
      {std::string(pixel_text("gif")), true},
      {"all is well", true},
      {"else", false}};
  FormCounts all;
  FormCounts first;
  FormCounts second;
  for (std::size_t i = 0; i < values.size(); ++i) {
    all.add_text(values[i].first, i + 1);
    (i % 2 == 0 ? first : second).add_text(values[i].first, i + 1);
  }
  first.merge(second);
  StateWriter out;
  first.write(out);
  const std::string bytes = out.take();
  StateReader in(bytes, "test");
  const FormCounts read = FormCounts::read(in);
  EXPECT_TRUE(in.is_at_end());
  EXPECT_EQ(read.of(FormKind::kTime), 3u);
  EXPECT_EQ(read.of(FormKind::kTime, "%d/%m/%Y"), 2u);
  EXPECT_EQ(read.most_frequent(FormKind::kTime), "%m/%d/%Y");
  EXPECT_EQ(read.of(FormKind::kImage, "gif"), 3u);
  EXPECT_EQ(read.of(FormKind::kLanguage), 4u);
  for (const ValueForm& form : value_forms()) {
    EXPECT_EQ(read.of(form.kind, form.format), all.of(form.kind, form.format));
  }
}

// Rows of four columns: a day, seconds since 1970, an image, and a sentence.
std::string formed_table(int rows, const std::string& last = "") {
  std::string text = "day,at,picture,note\n";
  for (int i = 0; i < rows; ++i) {
    text += fmt::format("2024-05-{:02},{},{},\"row {} is fine\"\n", 1 + i % 28,
                        1700000000 + i, pixel_text(i % 2 ? "png" : "gif"), i);
  }
  return text + last;
}

constexpr const char* kFormedSchema = R"([feature.day]
type = "string"
domain = "time"
format = "%Y-%m-%d"
[feature.at]
type = "int"
domain = "time"
format = "unix_seconds"
[feature.picture]
type = "string"
domain = "image"
[feature.note]
type = "string"
domain = "language"
min_domain_mass = 0.8
)";

TEST(ValueForms, AreInferredAndHoldForWhatTheyWereInferredFrom) {
  const StatisticsSummary data = summary_of_table(formed_table(200));
  const Schema schema = infer_schema(data);
  const Schema due = parse_schema(kFormedSchema, "due");
  for (const FeatureRule& rule : due.features) {
    const FeatureRule* found = schema.find(rule.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->domain, rule.domain) << rule.name;
    EXPECT_EQ(found->format, rule.format);
    EXPECT_EQ(found->min_domain_mass, rule.min_domain_mass);
    EXPECT_FALSE(found->values);
  }
  EXPECT_EQ(check(schema, {.data = data}).anomalies.size(), 0u);
  EXPECT_EQ(parse_schema(to_toml(schema), "again"), schema);
  // Few values are no evidence: they are listed.
  EXPECT_TRUE(
      infer_schema(summary_of_table(formed_table(8))).find("day")->values);
}

// What is found in the table, and what the schema becomes for one feature.
std::pair<std::string, FeatureRule> struck(const std::string& schema,
                                           const std::string& table,
                                           const std::string& feature) {
  const StatisticsSummary data = summary_of_table(table);
  const CheckReport report =
      check(parse_schema(schema, "test"), {.data = data});
  std::string kinds;
  for (const Anomaly& anomaly : report.anomalies) {
    kinds += anomaly.kind + " " + anomaly.detail + "\n";
  }
  EXPECT_EQ(check(report.repaired, {.data = data}).anomalies.size(), 0u);
  return {kinds, *report.repaired.find(feature)};
}

TEST(ValueForms, AreCheckedAndMended) {
  const auto [day, day_rule] = struck(
      kFormedSchema,
      formed_table(99, "2024-02-30,1700000000," +
                           std::string(pixel_text("png")) + ",all is well\n"),
      "day");
  EXPECT_EQ(day,
            "not_a_time 1 of 100 values (1 %), and %Y-%m-%d is due: "
            "'2024-02-30'\n");
  EXPECT_EQ(day_rule.domain, Domain::kAny);

  const auto [picture, picture_rule] =
      struck(kFormedSchema,
             formed_table(99, "2024-02-28,1700000000,cat.png,it\n"), "picture");
  EXPECT_EQ(picture, "not_an_image 1 of 100 values (1 %): 'cat.png'\n");

  std::string milliseconds = "at\n";
  for (int i = 0; i < 30; ++i) {
    milliseconds += fmt::format("{}\n", 1700000000000 + i);
  }
  // All of them have another unit: the smallest edit is to say so.
  const auto [at, at_rule] = struck(
      "[feature.at]\ntype = \"int\"\ndomain = \"time\"\n"
      "format = \"unix_seconds\"\n",
      milliseconds, "at");
  EXPECT_TRUE(at.starts_with("not_a_time 30 of 30 values")) << at;
  EXPECT_EQ(at_rule.format, "unix_milliseconds");
  EXPECT_EQ(at_rule.domain, Domain::kTime);
}

TEST(ValueForms, HoldForTheShareThatIsDue) {
  const auto notes = [](int sentences, int others) {
    std::string text = "note\n";
    for (int i = 0; i < sentences; ++i) text += "all is well\n";
    for (int i = 0; i < others; ++i) text += "x7f\n";
    return text;
  };
  const std::string schema =
      "[feature.note]\ndomain = \"language\"\nmin_domain_mass = 0.8\n";
  EXPECT_EQ(struck(schema, notes(8, 2), "note").first, "");
  EXPECT_TRUE(struck(schema, notes(7, 2), "note")
                  .first.starts_with("not_language 2 of 9"));
}

TEST(ValueForms, BoundLengths) {
  const std::string schema = "[feature.x]\nmax_bytes = 3\n";
  EXPECT_EQ(struck(schema, "x\nabc\n", "x").first, "");
  const auto [found, rule] = struck(schema, "x\nabc\nabcd\n", "x");
  EXPECT_EQ(found, "long_value 4 bytes, and at most 3 are due\n");
  EXPECT_EQ(rule.max_bytes, 4);
}

TEST(ValueForms, BoundMeansAndDeviations) {
  // Mean 3 and deviation 2.
  const std::string table = "x\n1\n5\n";
  const auto found = [&](const std::string& bounds) {
    return struck("[feature.x]\ntype = \"int\"\n" + bounds, table, "x").first;
  };
  EXPECT_EQ(found("min_mean = 3\nmax_mean = 3\nmin_std = 2\nmax_std = 2\n"),
            "");
  EXPECT_EQ(found("max_mean = 2.5\n"),
            "high_mean the mean is 3, and at most 2.5 is due\n");
  EXPECT_EQ(found("min_mean = 3.5\nmin_std = 2.5\n"),
            "low_mean the mean is 3, and at least 3.5 is due\n"
            "low_std the std is 2, and at least 2.5 is due\n");
  EXPECT_EQ(found("max_std = 1\n"),
            "high_std the std is 2, and at most 1 is due\n");
  // Weighted: three times 1, and once 5.
  const StatisticsSummary weighted =
      summary_of_table("x,w\n1,3\n5,1\n", {.weight = "w"});
  const Schema schema =
      parse_schema("[feature.x]\nmax_mean = 2\n[feature.w]\n", "test");
  EXPECT_EQ(check(schema, {.data = weighted}).anomalies.size(), 0u);
}

TEST(ValueForms, RefusesWhatContradictsItself) {
  const auto first_kind = [](const std::string& rule) {
    const StatisticsSummary data = summary_of_table("x\n1\n");
    const CheckReport report =
        check(parse_schema("[feature.x]\n" + rule, "test"), {.data = data});
    return report.anomalies.empty() ? "" : report.anomalies[0].kind;
  };
  EXPECT_EQ(first_kind("type = \"float\"\ndomain = \"time\"\n"), "domain_type");
  EXPECT_EQ(first_kind("type = \"int\"\ndomain = \"time\"\n"
                       "format = \"%H:%M\"\n"),
            "domain_type");
  EXPECT_EQ(first_kind("type = \"int\"\ndomain = \"image\"\n"), "domain_type");
  EXPECT_EQ(first_kind("type = \"string\"\nmin_mean = 1\n"), "domain_type");
  const auto refused = [](const std::string& rule) {
    return test::message_of(
        [&] { parse_schema("[feature.x]\n" + rule, "test"); });
  };
  EXPECT_NE(refused("domain = \"time\"\nformat = \"%Y-%m-%D\"\n")
                .find("did you mean '%Y-%m-%d'?"),
            std::string::npos);
  EXPECT_NE(refused("format = \"png\"\n").find("of the domains"),
            std::string::npos);
  EXPECT_NE(refused("min_std = 2\nmax_std = 1\n").find("above max_std"),
            std::string::npos);
}

TEST(ValueForms, AreMadeByExamples) {
  const Schema schema = parse_schema(
      std::string(kFormedSchema) +
          "[feature.mean]\ntype = \"float\"\nmax_mean = 1\nmin_std = 2\n"
          "[feature.short]\ntype = \"string\"\nmax_bytes = 4\n",
      "test");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // It throws where its examples are not as the schema says.
    EXPECT_EQ(make_examples(schema, 50, seed, "", ExampleFormat::kJsonLines)
                  .rows.size(),
              50u);
  }
}

}  // namespace
}  // namespace weft::value_forms_test
