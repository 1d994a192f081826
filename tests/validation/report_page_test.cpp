#include "weft/validation/report_page.h"

#include <gtest/gtest.h>

#include "tests/validation/tables.h"

#include "weft/validation/report_json.h"
#include "weft/validation/schema_text.h"

namespace weft::report_page_test {
namespace {

using namespace validation;
using test::summary_of_table;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ReportPage, ShowsWhatStandsInTheDataAsText) {
  const auto data = summary_of_table(
      "\"<script>alert(1)</script>\",b\n\"\"\"><img src=x onerror=y>\",1\n"
      "\xff\xfe&amp,2.5\n");
  const CheckReport report = check(
      parse_schema("[feature.b]\ntype = \"int\"\n", "test"), {.data = data});
  const std::string page =
      html_of({.title = "<b>hostile</b>", .data = data, .report = &report});
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  // An edit of several lines has as many.
  EXPECT_NE(page.find("type = &quot;string&quot;\n"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(page.find("&amp;amp"), std::string::npos);
  // It needs nothing from elsewhere.
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("src="), page.find("src=x"));
}

TEST(ReportPage, DrawsAllThatThereIs) {
  const auto data =
      summary_of_table("n,s,none\n1,a,\n2,b,\n3,a,\n", {.slices = {"s"}});
  const auto other = summary_of_table("n,s\n1,a\n9,c\n");
  const Schema schema = parse_schema(
      "[feature.n]\ndrift = { jensen_shannon = 0.01 }\n[feature.s]\n", "test");
  const CheckReport report = check(schema, {.data = data, .previous = &other});
  const std::string page = html_of({.title = "ours",
                                    .data = data,
                                    .other = &other,
                                    .other_title = "theirs",
                                    .report = &report});
  // Three features, of all rows and of each of two slices.
  EXPECT_EQ(count_of(page, "<section class=\"card"), 9u);
  EXPECT_EQ(count_of(page, "card bad"), 1u);
  EXPECT_NE(page.find("jensen_shannon"), std::string::npos);
  EXPECT_NE(page.find("s=a: 2 rows"), std::string::npos);
  EXPECT_GT(count_of(page, "class=\"theirs\""), 0u);
  EXPECT_EQ(count_of(page, "<svg"), count_of(page, "</svg>"));
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(ReportPage, DrawsNumbersAtTheEndsOfDoubles) {
  const auto data =
      summary_of_table("x,y\n1e308,nan\n-1e308,inf\n0,-inf\n1e-308,nan\n");
  const std::string page = html_of({.title = "ends", .data = data});
  EXPECT_EQ(page.find("width=\"nan"), std::string::npos);
  EXPECT_EQ(page.find("=\"inf"), std::string::npos);
  EXPECT_EQ(page.find("=\"-inf"), std::string::npos);
  EXPECT_EQ(page.find("=\"-nan"), std::string::npos);
}

TEST(ReportJson, HasNoOtherNumbersThanJsonHas) {
  const auto data = summary_of_table("x\nnan\ninf\n1e308\n-1e308\n\xff\n");
  const std::string text = to_json(data).dump();
  EXPECT_EQ(Json::parse(text)["features"][0]["numbers"]["nan"], 1);
}

}  // namespace
}  // namespace weft::report_page_test
