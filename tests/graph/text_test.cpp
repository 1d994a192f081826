#include "weft/graph/text.h"

#include <gtest/gtest.h>

#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/tensor/symbol.h"

namespace weft::text_test {
namespace {

Function example() {
  FunctionBuilder builder("example");
  return builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {symbol("N"), 4}}, "x");
    const Value w = builder.parameter({DType::kF32, {4}}, "w \"q\"");
    const Value y = clamp(x * w + 0.5, -1, 2.5);
    return std::vector{sum(y, {-1}, true), reshape(y, {-1}),
                       cast(y, DType::kBF16)};
  });
}

TEST(Text, PrintsAndParsesToTheSameText) {
  const Function function = example();
  const std::string text = to_string(function);
  const Graph graph = parse_graph(text);
  ASSERT_EQ(graph.functions.size(), 1u);
  EXPECT_EQ(to_string(graph.functions[0]), text);
}

TEST(Text, KeepsSymbolsAndNames) {
  const Graph graph = parse_graph(to_string(example()));
  const Function& f = graph.functions[0];
  EXPECT_EQ(f.value(f.parameters()[1]).name, "w \"q\"");
  EXPECT_EQ(to_string(f.type(f.results()[1])), "f32[4*N]");
}

TEST(Text, SaysWhereAMistakeIs) {
  const char* text =
      "func @f(%0: f32[2, 3]) -> (f32[2, 3]) {\n"
      "  %1 = rleu(%0) : f32[2, 3]\n"
      "  return %1\n}\n";
  try {
    parse_graph(text, "a.weft");
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("a.weft:2:"), what.npos) << what;
    EXPECT_NE(what.find("did you mean 'relu'"), what.npos) << what;
  }
}

TEST(Text, RefusesATypeThatInferenceDenies) {
  EXPECT_THROW(parse_graph("func @f(%0: f32[2]) -> (f32[3]) {\n"
                           "  %1 = relu(%0) : f32[3]\n  return %1\n}\n"),
               Error);
}

TEST(Text, EveryTruncationIsAnErrorOrEmpty) {
  const std::string text = to_string(example());
  for (std::size_t size = 1; size + 2 < text.size(); ++size) {
    EXPECT_THROW(parse_graph(std::string_view(text).substr(0, size)), Error)
        << size;
  }
}

// A function whose one parameter has this type.
std::string with_parameter(const std::string& type) {
  return "func @f(%0: " + type + ") -> () {\n  return \n}\n";
}

// What the caller got wrong, and where.
void expect_refusal(const std::string& text, const std::string& message) {
  try {
    parse_graph(text, "a.weft");
    FAIL() << text;
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << what;
    EXPECT_EQ(what.find("a.weft:"), 0u) << what;
    EXPECT_NE(what.find(message), what.npos) << what;
  }
}

TEST(Text, RefusesDimsThatNoTensorHas) {
  EXPECT_NO_THROW(parse_graph(with_parameter("f32[N-1, 4]")));
  expect_refusal(with_parameter("f32[-1]"), "a.weft:1:");
  expect_refusal(with_parameter("f32[3-5]"), "negative");
  expect_refusal(with_parameter("f32[N-N-2]"), "negative");
  expect_refusal(with_parameter("f32[9007199254740993]"), "cannot read");
  expect_refusal(with_parameter("f32[4503599627370496*2]"), "2^52");
  expect_refusal(with_parameter("f32[4503599627370496*N*3]"), "2^52");
  expect_refusal(with_parameter("u8[0, 67108864, 67108864, 2]"),
                 "larger than any memory");
}

TEST(Text, RefusesDimsThatGrowWithoutEnd) {
  std::string terms = "(a+b)";
  for (int i = 0; i < 40; ++i) terms += fmt::format("*(a{}+b{})", i, i);
  expect_refusal(with_parameter("f32[" + terms + "]"), "too many terms");
  std::string factors = "N";
  for (int i = 0; i < 64; ++i) factors += "*N";
  expect_refusal(with_parameter("f32[" + factors + "]"), "too many factors");
  std::string quotients = "N";
  for (int i = 0; i < 34; ++i) {
    quotients.insert(0, "(").append("+1)//2");
  }
  expect_refusal(with_parameter("f32[" + quotients + "]"), "cannot read");
}

TEST(Text, RefusesTwoParametersOfOneName) {
  expect_refusal(
      "func @f(%0 \"x\": f32[], %1 \"x\": f32[]) -> () {\n  return \n}\n",
      "two parameters");
}

// Nothing would ever say how large they are.
TEST(Text, RefusesSizesThatNoParameterTells) {
  const auto counting = [](const std::string& shape) {
    return "func @f(%0: f32[2*N+1], %1: f32[M]) -> (f32[]) {\n"
           "  %2 = element_count() {shape = shape[" +
           shape + "]} : f32[]\n  return %2\n}\n";
  };
  EXPECT_NO_THROW(parse_graph(counting("N, M")));
  expect_refusal(counting("N, L"), "no parameter tells a size");
  expect_refusal(
      "func @f(%0: f32[N]) -> (f32[M]) {\n"
      "  %1 = full() {shape = shape[M], value = 1.0} : f32[M]\n"
      "  return %1\n}\n",
      "no parameter tells a size");
}

TEST(Text, RefusesIntegersThatDoNotFit) {
  const auto constant = [](const std::string& value) {
    return "func @f() -> () {\n  %0 = constant() {value = " + value +
           "} : u8[1]\n  return \n}\n";
  };
  EXPECT_NO_THROW(parse_graph(constant("u8[1](255.0)")));
  expect_refusal(constant("u8[1](256.0)"), "256 is no u8");
  expect_refusal(constant("u8[1](-1.0)"), "-1 is no u8");
  expect_refusal(constant("u8[1](0.5)"), "0.5 is no u8");
  expect_refusal(constant("u8[1](nan)"), "nan is no u8");
}

TEST(Builder, AShapeMistakeNamesOpOperandsRuleAndLine) {
  FunctionBuilder builder("f");
  const Value a = builder.parameter({DType::kF32, {2, 3}}, "a");
  const Value b = builder.parameter({DType::kF32, {2, 4}}, "b");
  ContextScope scope(builder);
  try {
    (void)(a + b);
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("add: "), what.npos) << what;
    EXPECT_NE(what.find("f32[2, 3]"), what.npos) << what;
    EXPECT_NE(what.find("f32[2, 4]"), what.npos) << what;
    EXPECT_NE(what.find("text_test.cpp:"), what.npos) << what;
  }
}

TEST(Builder, RefusesAValueOfAnotherFunction) {
  FunctionBuilder one("one");
  FunctionBuilder two("two");
  const Value x = one.parameter({DType::kF32, {2}}, "x");
  ContextScope scope(two);
  EXPECT_THROW(relu(x), Error);
}

TEST(Symbols, AreOnePolynomialAlgebra) {
  const Dim n = symbol("N");
  const Dim t = symbol("T");
  EXPECT_EQ(dim_add(n, n), dim_multiply(2, n));
  EXPECT_EQ(dim_subtract(dim_add(n, 3), n), 3);
  EXPECT_EQ(dim_divide_exactly(dim_multiply(dim_multiply(n, t), 6),
                               dim_multiply(2, t)),
            dim_multiply(3, n));
  EXPECT_EQ(dim_divide_exactly(n, 2), std::nullopt);
  const Dim half = dim_floor_divide(dim_add(n, 1), 2);
  EXPECT_EQ(to_string(half), "(N+1)//2");
  EXPECT_EQ(parse_dim("(N+1)//2"), half);
  Bindings bindings;
  bindings.bind(n, 7);
  EXPECT_EQ(substitute(half, bindings), 4);
}

TEST(Symbols, QuotientsNestOnlySoDeep) {
  Dim dim = symbol("N");
  EXPECT_THROW(
      {
        for (int i = 0; i < 40; ++i) {
          dim = dim_floor_divide(dim_add(dim, 1), 2);
          EXPECT_EQ(parse_dim(to_string(dim)), dim);
        }
      },
      Error);
}

TEST(Symbols, MatchLearnsSymbolsFromLinearDims) {
  const Dim n = symbol("N");
  const Dim m = symbol("M");
  Bindings bindings;
  EXPECT_TRUE(match({n, 4, n}, {3, 4, 3}, bindings));
  EXPECT_FALSE(match({n}, {5}, bindings));
  EXPECT_TRUE(match({dim_add(n, m)}, {5}, bindings));
  EXPECT_EQ(bindings.find(m), 2);
  for (const auto& [pattern, size] : {std::pair{parse_dim("2*N"), Dim{7}},
                                      {parse_dim("N+3"), Dim{2}},
                                      {parse_dim("N*N"), Dim{9}},
                                      {parse_dim("N+M"), Dim{9}},
                                      {parse_dim("(N)//2"), Dim{4}}}) {
    Bindings fresh;
    EXPECT_FALSE(match({pattern}, {size}, fresh)) << to_string(pattern);
  }
}

TEST(Symbols, MatchTellsTheSymbolsOfBothSidesApart) {
  const Dim n = symbol("N");
  const Dim m = symbol("M");
  Bindings bindings;
  EXPECT_TRUE(match({n, m}, {m, dim_multiply(2, n)}, bindings));
  EXPECT_EQ(substitute(dim_add(n, m), bindings),
            dim_add(m, dim_multiply(2, n)));
  Bindings same;
  EXPECT_TRUE(match({n}, {n}, same));
  EXPECT_FALSE(match({n}, {m}, same));
}

}  // namespace
}  // namespace weft::text_test
