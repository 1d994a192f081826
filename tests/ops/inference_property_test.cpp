// Inference looks at types and attributes that a stranger's text may hold:
// whatever stands there, the answer is types or the caller's mistake.
#include <cctype>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/op_case.h"

#include "weft/graph/builder.h"
#include "weft/graph/text.h"

namespace weft::testing::inference_property_test {
namespace {

// What is put in the place of each number of a text.
const char* const kExtremes[] = {"-1",
                                 "0",
                                 "1",
                                 "2",
                                 "9",
                                 "2, 3",
                                 "N",
                                 "1.5",
                                 "2147483648",
                                 "4503599627370496",
                                 "9223372036854775807",
                                 "-9223372036854775807",
                                 "-9223372036854775808"};

// A function of one node: the case's op on parameters.
std::string text_of(const OpCase& c) {
  Function function("f");
  std::vector<ValueId> inputs;
  for (const TensorType& type : c.input_types()) {
    inputs.push_back(function.add_parameter(type, ""));
  }
  const Node& node =
      function.add_node(c.op(), inputs, c.attributes(), Location());
  function.set_results(node.outputs);
  return to_string(function);
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Where the numbers of a text stand, the names of values and dtypes left out.
std::vector<std::pair<std::size_t, std::size_t>> numbers_of(
    const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char before = text[i - 1];
    if (!is_digit(text[i]) || before == '%' ||
        std::isalnum(static_cast<unsigned char>(before)) || before == '.') {
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    places.emplace_back(before == '-' ? i - 1 : i, end);
  }
  return places;
}

void expect_types_or_refusal(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << text << "\n"
                                                  << error.what();
  }
}

TEST(Inference, SurvivesExtremeNumbers) {
  for_each_case([](const OpCase& c) {
    const std::string text = text_of(c);
    if (text.size() > 4096) return;  // constants
    EXPECT_NO_THROW(parse_graph(text)) << text;
    for (const auto& [begin, end] : numbers_of(text)) {
      for (const char* extreme : kExtremes) {
        std::string hostile = text;
        hostile.replace(begin, end - begin, extreme);
        expect_types_or_refusal(hostile);
      }
    }
  });
}

TEST(Inference, SurvivesMissingAndDoubledNumbers) {
  for_each_case([](const OpCase& c) {
    const std::string text = text_of(c);
    if (text.size() > 4096) return;
    for (const auto& [begin, end] : numbers_of(text)) {
      std::string shorter = text;
      const bool has_comma = text.compare(end, 2, ", ") == 0;
      shorter.erase(begin, end - begin + (has_comma ? 2 : 0));
      expect_types_or_refusal(shorter);
      std::string longer = text;
      longer.insert(begin, text.substr(begin, end - begin) + ", ");
      expect_types_or_refusal(longer);
    }
  });
}

}  // namespace
}  // namespace weft::testing::inference_property_test
