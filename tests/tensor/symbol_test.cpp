// Dims as polynomials: equal expressions are equal, whatever symbols stand for
// the arithmetic is that of numbers, and nothing overflows in silence.
#include "weft/tensor/symbol.h"

#include <gtest/gtest.h>

#include "weft/base/philox.h"

namespace weft::symbol_test {
namespace {

TEST(Symbol, EqualExpressionsAreTheSameDim) {
  const Dim n = symbol("N");
  const Dim m = symbol("M");
  EXPECT_EQ(dim_subtract(dim_add(n, n), n), n);
  EXPECT_EQ(dim_multiply(dim_add(n, 1), m), dim_add(dim_multiply(m, n), m));
  EXPECT_EQ(dim_floor_divide(dim_multiply(n, 4), 4), n);
  EXPECT_NE(n, m);
}

TEST(Symbol, TextReadsBack) {
  const Dim n = symbol("N");
  for (const Dim dim : {Dim{128}, n, dim_add(dim_multiply(n, 2), 1),
                        dim_floor_divide(dim_subtract(n, 3), 2),
                        dim_multiply(n, dim_add(symbol("Length"), 7))}) {
    EXPECT_EQ(parse_dim(to_string(dim)), dim) << to_string(dim);
  }
  for (const char* text :
       {"", "N+", "2**N", "-1", "N//0", "(N", "9999999999999999999"}) {
    EXPECT_THROW(parse_dim(text), Error) << text;
  }
}

// A random expression, and its value where N = n and M = m.
struct Expression {
  Dim dim;
  std::int64_t value;
};

TEST(Symbol, ComputesAsNumbersDo) {
  Bindings bindings;
  const std::int64_t n = 37;
  const std::int64_t m = 5;
  bindings.bind(symbol("N"), n);
  bindings.bind(symbol("M"), m);
  const RandomStream random{.seed = 3};
  std::vector<Expression> known = {
      {symbol("N"), n}, {symbol("M"), m}, {3, 3}, {1, 1}};
  for (int i = 0; i < 400; ++i) {
    const auto draw = random.block(static_cast<std::uint64_t>(i));
    const Expression& a = known[draw[0] % known.size()];
    const Expression& b = known[draw[1] % known.size()];
    Expression made{};
    switch (draw[2] % 3) {
      case 0:
        made = {dim_add(a.dim, b.dim), a.value + b.value};
        break;
      case 1:
        if (a.value * b.value > 100'000) continue;
        made = {dim_multiply(a.dim, b.dim), a.value * b.value};
        break;
      default: {
        const std::int64_t divisor = 1 + draw[3] % 6;
        made = {dim_floor_divide(a.dim, divisor), a.value / divisor};
      }
    }
    ASSERT_EQ(substitute(made.dim, bindings), made.value)
        << to_string(made.dim);
    // Long expressions are refused, which another test looks at.
    if (to_string(made.dim).size() < 40) known.push_back(made);
  }
  EXPECT_GT(known.size(), 50u);
}

TEST(Symbol, RefusesWhatCannotBeASize) {
  const Dim n = symbol("N");
  EXPECT_THROW(dim_subtract(3, 4), Error);
  EXPECT_THROW(dim_multiply(kMaxDim, 2), Error);
  EXPECT_THROW(dim_multiply(dim_multiply(n, kMaxDim), 2), Error);
  EXPECT_THROW(symbol("2N"), Error);
  Dim power = n;
  EXPECT_THROW(
      for (int i = 0; i < 1000;
           ++i) { power = dim_multiply(power, dim_add(n, symbol("M"))); },
      Error);
}

TEST(Symbol, MatchLearnsWhatSymbolsStandFor) {
  const Dim n = symbol("N");
  Bindings bindings;
  EXPECT_TRUE(match({dim_add(dim_multiply(n, 2), 1), 4}, {9, 4}, bindings));
  EXPECT_EQ(bindings.find(n), 4);
  EXPECT_FALSE(match({n}, {5}, bindings));  // it is 4
  Bindings fresh;
  EXPECT_FALSE(match({dim_multiply(n, 2)}, {9}, fresh));  // it is odd
  EXPECT_FALSE(match({n}, {2, 2}, fresh));
}

}  // namespace
}  // namespace weft::symbol_test
