// Functions of f64 and divisions, in vectors: how many units in the last place
// they are from long double's, and whether divisions are exact.
#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

#include "weft/base/philox.h"
#include "weft/ops/ops.h"
#include "weft/ops/support/floor_division.h"

namespace weft::wide_functions_test {
namespace {

constexpr Dim kCount = 1 << 16;

std::uint64_t bits(std::uint32_t stream, Dim i) {
  const RandomStream random{9, stream, 0};
  const auto at = static_cast<std::uint64_t>(i);
  return std::uint64_t{random.word(2 * at)} << 32 | random.word(2 * at + 1);
}

// Every number is as likely as any other.
Tensor of_all_sizes(std::uint32_t stream) {
  Tensor x = Tensor::empty({DType::kF64, {kCount}});
  for (Dim i = 0; i < kCount; ++i) {
    x.data<double>()[i] = std::bit_cast<double>(bits(stream, i));
  }
  return x;
}

Tensor between(double low, double high, std::uint32_t stream) {
  Tensor x = Tensor::empty({DType::kF64, {kCount}});
  for (Dim i = 0; i < kCount; ++i) {
    const auto word = static_cast<double>(bits(stream, i) >> 11);
    x.data<double>()[i] = low + (high - low) * word * 0x1p-53;
  }
  return x;
}

// |actual - exact| in steps from one f64 to the next, as it is around `exact`.
double units_between(double actual, long double exact) {
  const auto near = static_cast<double>(exact);
  if (std::isnan(exact) || std::isinf(near)) {
    const bool agree = std::isnan(exact) ? std::isnan(actual) : actual == near;
    return agree ? 0 : HUGE_VAL;
  }
  const double step =
      std::nextafter(std::fabs(near), HUGE_VAL) - std::fabs(near);
  const auto units = static_cast<double>(std::fabs(actual - exact) / step);
  return std::isnan(units) ? HUGE_VAL : units;
}

void expect_within(double units, const Tensor& x, const Value& y,
                   long double (*exact)(long double)) {
  for (Dim i = 0; i < kCount; ++i) {
    const double actual = y.tensor().item(i);
    ASSERT_LE(units_between(actual, exact(x.item(i))), units)
        << "of " << x.item(i) << ": " << actual;
  }
}

void expect_within(double units, const Tensor& a, const Tensor& b,
                   const Value& y,
                   long double (*exact)(long double, long double)) {
  for (Dim i = 0; i < kCount; ++i) {
    const double actual = y.tensor().item(i);
    ASSERT_LE(units_between(actual, exact(a.item(i), b.item(i))), units)
        << "of " << a.item(i) << " and " << b.item(i) << ": " << actual;
  }
}

TEST(WideFunctions, OfOneNumber) {
  for (const Tensor& x : {of_all_sizes(0), between(-30, 30, 1)}) {
    expect_within(4, x, tan(Value(x)), std::tan);
    expect_within(4, x, erf(Value(x)), std::erf);
    expect_within(4, x, sin(Value(x)), std::sin);
    expect_within(4, x, cos(Value(x)), std::cos);
    expect_within(1, x, exp(Value(x)), std::exp);
  }
  // From results that are 0, by subnormal ones, to infinite ones.
  for (const Tensor& x : {between(-760, -700, 11), between(-710, 720, 12)})
    expect_within(1, x, exp(Value(x)), std::exp);
  // Below 0 the rounding of x / √2 counts x² times, whoever computes it.
  const Tensor x = between(-30, 30, 2);
  expect_within(6, x, gelu(Value(x)), [](long double v) {
    const double inner = -static_cast<double>(v) * (std::numbers::sqrt2 / 2);
    return v / 2 * std::erfc(static_cast<long double>(inner));
  });
}

TEST(WideFunctions, OfTwoNumbers) {
  const Tensor a = of_all_sizes(3);
  const Tensor b = of_all_sizes(4);
  expect_within(4, a, b, atan2(Value(a), Value(b)), std::atan2);
  expect_within(4, a, b, power(Value(a), Value(b)), std::pow);
  const Tensor base = between(0, 40, 5);
  const Tensor exponent = between(-40, 40, 6);
  expect_within(4, base, exponent, power(Value(base), Value(exponent)),
                std::pow);
  expect_within(4, base, exponent, atan2(Value(base), Value(exponent)),
                std::atan2);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         (a == b && std::signbit(a) == std::signbit(b));
}

// Ratios of all sizes, of a few digits, and just beside integers.
TEST(WideFunctions, DivisionsOfDoublesAreThoseOfTheDefinition) {
  const auto expect_exact = [](const Tensor& a, const Tensor& b) {
    const Value quotient = floor_divide(Value(a), Value(b));
    const Value rest = remainder(Value(a), Value(b));
    for (Dim i = 0; i < kCount; ++i) {
      const auto exact = floor_division(a.item(i), b.item(i));
      ASSERT_TRUE(same(quotient.tensor().item(i), exact.quotient))
          << a.item(i) << " // " << b.item(i) << " is "
          << quotient.tensor().item(i) << ", not " << exact.quotient;
      ASSERT_TRUE(same(rest.tensor().item(i), exact.remainder))
          << a.item(i) << " % " << b.item(i) << " is " << rest.tensor().item(i)
          << ", not " << exact.remainder;
    }
  };
  expect_exact(of_all_sizes(7), of_all_sizes(8));
  expect_exact(between(-100, 100, 9), between(-3, 3, 10));
  const Tensor b = between(-3, 3, 11);
  const Tensor a = Tensor::empty(b.type());
  for (Dim i = 0; i < kCount; ++i) {
    const double multiple = b.item(i) * static_cast<double>(i % 1000);
    a.data<double>()[i] =
        i % 3 == 0 ? multiple
                   : std::nextafter(multiple, i % 3 == 1 ? -9e9 : 9e9);
  }
  expect_exact(a, b);
  const Tensor tiny = Tensor::empty(b.type());
  std::transform(a.data<double>(), a.data<double>() + kCount,
                 tiny.data<double>(), [](double x) { return x * 0x1p-1030; });
  const Tensor tiny_b = Tensor::empty(b.type());
  std::transform(b.data<double>(), b.data<double>() + kCount,
                 tiny_b.data<double>(), [](double x) { return x * 0x1p-1030; });
  expect_exact(tiny, tiny_b);
}

// Through doubles where both are short, one by one where they are not: numbers
// of all lengths, those beside multiples, and the edges.
TEST(WideFunctions, QuotientsOfI64AreThoseOfTheDefinition) {
  const std::int64_t edges[] = {INT64_MIN,
                                INT64_MIN + 1,
                                -(std::int64_t{1} << 50),
                                -3,
                                -1,
                                0,
                                1,
                                3,
                                (std::int64_t{1} << 50) - 1,
                                std::int64_t{1} << 50,
                                INT64_MAX};
  const auto count = static_cast<Dim>(std::size(edges));
  const Tensor a = Tensor::empty({DType::kI64, {kCount}});
  const Tensor b = Tensor::empty({DType::kI64, {kCount}});
  for (Dim i = 0; i < kCount; ++i) {
    auto& p = a.data<std::int64_t>()[i];
    auto& q = b.data<std::int64_t>()[i];
    p = static_cast<std::int64_t>(bits(13, i)) >> (i % 63);
    q = static_cast<std::int64_t>(bits(14, i)) >> (i * 7 % 63);
    if (i % 3 == 0 && q != 0) p = p / q * q + i % 2;
    if (i < count * count) {
      p = edges[i / count];
      q = edges[i % count];
    }
  }
  const Value quotient = floor_divide(Value(a), Value(b));
  for (Dim i = 0; i < kCount; ++i) {
    const std::int64_t p = a.data<std::int64_t>()[i];
    const std::int64_t q = b.data<std::int64_t>()[i];
    ASSERT_EQ(quotient.tensor().data<std::int64_t>()[i],
              floor_division(p, q).quotient)
        << p << " // " << q;
  }
}

TEST(WideFunctions, DivisionsOfI32AreThoseOfI64) {
  const std::int32_t edges[] = {
      INT32_MIN, INT32_MIN + 1, -7,       -2, -1, 0, 1, 2, 7,
      46341,     INT32_MAX - 1, INT32_MAX};
  const auto count = static_cast<Dim>(std::size(edges));
  const Tensor a = Tensor::empty({DType::kI32, {kCount}});
  const Tensor b = Tensor::empty({DType::kI32, {kCount}});
  for (Dim i = 0; i < kCount; ++i) {
    const std::uint64_t word = bits(12, i);
    // Divisors of all lengths.
    a.data<std::int32_t>()[i] = static_cast<std::int32_t>(word);
    b.data<std::int32_t>()[i] =
        static_cast<std::int32_t>(word >> 32) >> (word % 31);
    if (i < count * count) {
      a.data<std::int32_t>()[i] = edges[i / count];
      b.data<std::int32_t>()[i] = edges[i % count];
    }
  }
  const Value truncated = Value(a) / Value(b);
  const Value quotient = floor_divide(Value(a), Value(b));
  const Value rest = remainder(Value(a), Value(b));
  for (Dim i = 0; i < kCount; ++i) {
    const std::int64_t p = a.data<std::int32_t>()[i];
    const std::int64_t q = b.data<std::int32_t>()[i];
    const auto low = [](std::int64_t x) {
      return static_cast<std::int32_t>(x);
    };
    const auto exact = floor_division(p, q);
    ASSERT_EQ(truncated.tensor().data<std::int32_t>()[i],
              q == 0 ? 0 : low(p / q))
        << p << " / " << q;
    ASSERT_EQ(quotient.tensor().data<std::int32_t>()[i], low(exact.quotient))
        << p << " // " << q;
    ASSERT_EQ(rest.tensor().data<std::int32_t>()[i], low(exact.remainder))
        << p << " % " << q;
  }
}

}  // namespace
}  // namespace weft::wide_functions_test
