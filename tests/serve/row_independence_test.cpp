#include "weft/serve/row_independence.h"

#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/graph/text.h"
#include "weft/runtime/executable.h"
#include "weft/tensor/symbol.h"

namespace weft::row_independence_test {
namespace {

using serve::row_symbol;
using serve::rows_depend;

// A function of x: f32[N, 4, 6] and w: f32[6, 6], of which x has the rows.
Function function_of(const std::string& result, const std::string& body) {
  const std::string text =
      "func @f(%0 \"x\": f32[N, 4, 6], %1 \"w\": f32[6, 6]) -> (" + result +
      ") {\n" + body + "}\n";
  return parse_graph(text, "test").functions.front();
}

std::optional<std::string> verdict(const Function& function) {
  const auto rows = row_symbol(function, 1, 1);
  if (!rows) return "no rows";
  return rows_depend(function, *rows, 1, 1);
}

// What all rows give together is what each gives alone.
void expect_rows_agree(const Function& function) {
  Executable executable(function);
  const Tensor x = test::pattern({5, 4, 6}, 0.1, 1);
  const Tensor w = test::pattern({6, 6}, -1, 1, 2);
  const Tensor all = executable.run(std::vector{x, w})[0];
  for (Dim row = 0; row < 5; ++row) {
    const Tensor alone =
        executable.run(std::vector{x.slice(row, row + 1).clone(), w})[0];
    EXPECT_TRUE(test::near(all.slice(row, row + 1), alone, 1e-6)) << row;
  }
}

struct Sample {
  const char* result;
  const char* body;
};

TEST(RowIndependence, IsProvedWhereRowsStayApart) {
  const Sample samples[] = {
      {"f32[N, 4, 6]", "%2 = exp(%0) : f32[N, 4, 6]\nreturn %2\n"},
      {"f32[N, 4, 6]", "%2 = matmul(%0, %1) : f32[N, 4, 6]\nreturn %2\n"},
      {"f32[N, 4, 4]",
       "%2 = matmul(%0, %0) {transpose_b = true} : f32[N, 4, 4]\nreturn %2\n"},
      {"f32[N, 4]", "%2 = sum(%0) {axes = [2]} : f32[N, 4]\nreturn %2\n"},
      {"f32[N, 24]",
       "%2 = reshape(%0) {shape = shape[N, 24]} : f32[N, 24]\n"
       "%3 = softmax(%2) : f32[N, 24]\nreturn %3\n"},
      {"f32[N, 6, 4]",
       "%2 = transpose(%0) {permutation = [0, 2, 1]} : f32[N, 6, 4]\nreturn "
       "%2\n"},
      // The rows leave the front, and come back to it.
      {"f32[N, 4, 6]",
       "%2 = transpose(%0) {permutation = [1, 0, 2]} : f32[4, N, 6]\n"
       "%3 = softmax(%2) {axis = 0} : f32[4, N, 6]\n"
       "%4 = transpose(%3) {permutation = [1, 0, 2]} : f32[N, 4, 6]\nreturn "
       "%4\n"},
      {"f32[N, 4, 12]",
       "%2 = concat(%0, %0) {axis = 2} : f32[N, 4, 12]\nreturn %2\n"},
      {"f32[N, 4, 6]",
       "%2 = full() {shape = shape[N, 4, 6], value = 2.0} : f32[N, 4, 6]\n"
       "%3 = add(%0, %2) : f32[N, 4, 6]\nreturn %3\n"},
      {"f32[N, 4, 2]",
       "%2 = slice(%0) {begin = [0, 0, 1], end = [9223372036854775807, 4, 3]} "
       ": f32[N, 4, 2]\nreturn %2\n"},
      {"f32[N, 4, 6]",
       "%2 = cumsum(%0) {axis = 1} : f32[N, 4, 6]\nreturn %2\n"},
      {"f32[N, 4, 6]",
       "%2 = linear_recurrence(%0, %0) {axis = 1} : f32[N, 4, 6]\n"
       "%3 = cumprod(%2) {axis = 2} : f32[N, 4, 6]\nreturn %3\n"},
  };
  int tried = 0;
  for (const Sample& sample : samples) {
    Function function;
    try {
      function = function_of(sample.result, sample.body);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
      continue;
    }
    const auto why = verdict(function);
    EXPECT_FALSE(why) << sample.body << *why;
    expect_rows_agree(function);
    ++tried;
  }
  EXPECT_EQ(tried, static_cast<int>(std::size(samples)));
}

TEST(RowIndependence, IsDeniedWhereRowsMix) {
  const Sample samples[] = {
      {"f32[N, 4, 6]",
       "%2 = cumsum(%0) {axis = 0} : f32[N, 4, 6]\nreturn %2\n"},
      {"f32[N, 4, 6]",
       "%2 = linear_recurrence(%0, %0) {axis = 0} : f32[N, 4, 6]\n"
       "return %2\n"},
      {"f32[N, 4, 6]",
       "%2 = softmax(%0) {axis = 0} : f32[N, 4, 6]\nreturn %2\n"},
      {"f32[N, 4, 6]",
       "%2 = mean(%0) {axes = [0], keep_dims = true} : f32[1, 4, 6]\n"
       "%3 = subtract(%0, %2) : f32[N, 4, 6]\nreturn %3\n"},
      // How many rows there are changes what each becomes.
      {"f32[N, 4, 6]",
       "%2 = element_count() {shape = shape[N]} : f32[]\n"
       "%3 = divide(%0, %2) : f32[N, 4, 6]\nreturn %3\n"},
      {"f32[N, 6, 4]",
       "%2 = reshape(%0) {shape = shape[4, N, 6]} : f32[4, N, 6]\n"
       "%3 = transpose(%2) {permutation = [1, 2, 0]} : f32[N, 6, 4]\nreturn "
       "%3\n"},
      {"f32[N, 4, 6]",
       "%2 = slice(%0) {begin = [-1, 0, 0], end = [9223372036854775807, 4, 6], "
       "steps = [-1, 1, 1]} : f32[N, 4, 6]\nreturn %2\n"},
      // The first row would be that of another request.
      {"f32[N, 4, 6]",
       "%2 = slice(%0) {begin = [0, 0, 0], end = [1, 4, 6]} : f32[1, 4, 6]\n"
       "%3 = subtract(%0, %2) : f32[N, 4, 6]\nreturn %3\n"},
  };
  for (const Sample& sample : samples) {
    try {
      EXPECT_TRUE(verdict(function_of(sample.result, sample.body)))
          << sample.body;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(RowIndependence, NeedsOneSymbolInFront) {
  EXPECT_FALSE(row_symbol(
      function_of("f32[4]",
                  "%2 = sum(%0) {axes = [0, 2]} : f32[4]\nreturn %2\n"),
      1, 1));
  const Function twice = parse_graph(
                             "func @f(%0 \"x\": f32[N, N]) -> (f32[N, N]) {\n"
                             "%1 = exp(%0) : f32[N, N]\nreturn %1\n}\n",
                             "test")
                             .functions.front();
  EXPECT_NE(verdict(twice)->find("twice"), std::string::npos);
}

}  // namespace
}  // namespace weft::row_independence_test
