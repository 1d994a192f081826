// Sine and its kin of every kind of f32: how many units in the last place they
// are from C's library, whose functions of double are exact beside them.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

#include "weft/base/philox.h"
#include "weft/ops/ops.h"

namespace weft::trigonometry_test {
namespace {

constexpr Dim kCount = 1 << 19;

Tensor generated(float (*make)(std::uint32_t)) {
  Tensor x = Tensor::empty({DType::kF32, {kCount}});
  const RandomStream random{5, 0, 0};
  for (Dim i = 0; i < kCount; ++i) {
    x.data<float>()[i] = make(random.word(static_cast<std::uint64_t>(i)));
  }
  return x;
}

// Every number is as likely as any other.
Tensor of_all_sizes() {
  return generated(
      [](std::uint32_t word) { return std::bit_cast<float>(word); });
}

// What lies nearest to a multiple of π/2, where sine or cosine are all but 0:
// to those below 2^40, and to those that a vector of f32 reduces.
template <int kDigits>
Tensor near_zeros() {
  return generated([](std::uint32_t word) {
    const double quarters = std::floor(std::exp2(word * 0x1p-32 * kDigits));
    return static_cast<float>(quarters * (std::numbers::pi / 2));
  });
}

Tensor of_some_turns() {
  return generated([](std::uint32_t word) {
    return static_cast<float>(word) * 0x1p-18f - 0x1p13f;
  });
}

Tensor of_unit_size() {
  return generated([](std::uint32_t word) {
    return static_cast<float>(word) * 0x1p-31f - 1;
  });
}

// |actual - exact| in steps from one f32 to the next, as it is around `exact`.
double units_between(float actual, double exact) {
  const float near = std::fabs(static_cast<float>(exact));
  if (std::isnan(exact) || std::isinf(near)) {
    const bool agree = std::isnan(exact) ? std::isnan(actual)
                                         : actual == static_cast<float>(exact);
    return agree ? 0 : HUGE_VAL;
  }
  // What std::nextafter() says, in a fraction of its time.
  const auto next =
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) + 1);
  const double step = next - near;
  const double units = std::fabs(actual - exact) / step;
  return std::isnan(units) ? HUGE_VAL : units;
}

void expect_within(double units, const Tensor& x, const Value& y,
                   double (*exact)(double)) {
  const float* numbers = x.data<float>();
  const Tensor& results = y.tensor();
  const float* actual = results.data<float>();
  for (Dim i = 0; i < x.size(); ++i) {
    const double wanted = exact(numbers[i]);
    if (units_between(actual[i], wanted) <= units) continue;
    FAIL() << "of " << numbers[i] << ": " << actual[i] << ", not " << wanted;
  }
}

TEST(Trigonometry, IsRightOfEverySize) {
  for (const Tensor& x : {of_all_sizes(), near_zeros<40>(), near_zeros<12>(),
                          of_some_turns(), of_unit_size()}) {
    expect_within(1, x, sin(Value(x)), std::sin);
    expect_within(1, x, cos(Value(x)), std::cos);
    expect_within(1, x, tan(Value(x)), std::tan);
    expect_within(4, x, atan(Value(x)), std::atan);
    expect_within(4, x, asin(Value(x)), std::asin);
    expect_within(4, x, acos(Value(x)), std::acos);
    expect_within(1, x, asinh(Value(x)), std::asinh);
    expect_within(1, x, acosh(Value(x)), std::acosh);
    expect_within(2, x, atanh(Value(x)), std::atanh);
  }
}

TEST(Trigonometry, TheSineOfZeroKeepsItsSign) {
  const Tensor x = Tensor::of<float>({2}, {-0.f, 0.f});
  const Tensor y = sin(Value(x)).tensor();
  EXPECT_TRUE(std::signbit(y.data<float>()[0]));
  EXPECT_FALSE(std::signbit(y.data<float>()[1]));
}

TEST(Trigonometry, KeepsTheDigitsNearZero) {
  for (const Tensor& x : {of_all_sizes(), of_unit_size()}) {
    expect_within(4, x, expm1(Value(x)), std::expm1);
    expect_within(3, x, log1p(Value(x)), std::log1p);
  }
}

TEST(Trigonometry, AnglesOfPointsEverywhere) {
  for (const auto make : {of_all_sizes, of_unit_size}) {
    const Tensor a = make();
    const Tensor b = Tensor::empty(a.type());
    std::reverse_copy(a.data<float>(), a.data<float>() + kCount,
                      b.data<float>());
    const Tensor angles = atan2(Value(a), Value(b)).tensor();
    const float* ys = a.data<float>();
    const float* xs = b.data<float>();
    const float* actual = angles.data<float>();
    for (Dim i = 0; i < kCount; ++i) {
      const double exact =
          std::atan2(static_cast<double>(ys[i]), static_cast<double>(xs[i]));
      ASSERT_LE(units_between(actual[i], exact), 4)
          << "of " << ys[i] << " and " << xs[i];
    }
  }
}

}  // namespace
}  // namespace weft::trigonometry_test
