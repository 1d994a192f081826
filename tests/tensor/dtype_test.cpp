// The 16-bit floats, held to IEEE 754's own words: every value of them, and
// every tie between two neighbours.
#include "weft/tensor/dtype.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "weft/tensor/holds.h"
#include "weft/tensor/round_to_odd.h"

namespace weft::dtype_test {
namespace {

// What the format says that the bits mean.
double meaning(std::uint16_t bits, int mantissa_bits, int bias) {
  const int exponent_bits = 15 - mantissa_bits;
  const int most_exponent = (1 << exponent_bits) - 1;
  const int exponent = (bits >> mantissa_bits) & most_exponent;
  const double mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == most_exponent) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  const double unit = std::ldexp(1.0, -mantissa_bits);
  return exponent == 0
             ? sign * std::ldexp(mantissa * unit, 1 - bias)
             : sign * std::ldexp(1 + mantissa * unit, exponent - bias);
}

template <class Half>
struct Format;
template <>
struct Format<float16> {
  static constexpr int kMantissa = 10, kBias = 15;
};
template <>
struct Format<bfloat16> {
  static constexpr int kMantissa = 7, kBias = 127;
};

template <class Half>
class Halves : public ::testing::Test {
 protected:
  static double meaning_of(std::uint16_t bits) {
    return meaning(bits, Format<Half>::kMantissa, Format<Half>::kBias);
  }
  static Half of_bits(std::uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }
};
using HalfTypes = ::testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(Halves, HalfTypes);

TYPED_TEST(Halves, EveryValueIsReadAndWrittenAsTheFormatSays) {
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto value = static_cast<float>(this->of_bits(bits));
    const double expected = this->meaning_of(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << i;
    ASSERT_EQ(TypeParam(value).bits, bits);
  }
}

TYPED_TEST(Halves, RoundToTheNearestAndTiesToEven) {
  // Up to the largest finite value, for both signs.
  const std::uint16_t infinity = TypeParam(HUGE_VALF).bits;
  for (std::uint16_t low = 0; low + 1 < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    // The middle has one bit more than the format, which f32 holds.
    const auto middle = static_cast<float>(
        (this->meaning_of(low) + this->meaning_of(high)) / 2);
    const std::uint16_t even = (low & 1) == 0 ? low : high;
    for (const float sign : {1.0f, -1.0f}) {
      const auto bits = [&](float value) {
        return TypeParam(sign * value).bits & 0x7fff;
      };
      ASSERT_EQ(bits(middle), even) << low;
      ASSERT_EQ(bits(std::nextafter(middle, 0.0f)), low) << low;
      ASSERT_EQ(bits(std::nextafter(middle, HUGE_VALF)), high) << low;
    }
  }
}

// A double beside the middle is nearer to it than any f32.
TYPED_TEST(Halves, AreRoundedToOnceFromDoubles) {
  const std::uint16_t infinity = TypeParam(HUGE_VALF).bits;
  for (std::uint16_t low = 0; low + 1 < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double middle = (this->meaning_of(low) + this->meaning_of(high)) / 2;
    const std::uint16_t even = (low & 1) == 0 ? low : high;
    for (const double sign : {1.0, -1.0}) {
      const auto bits = [&](double value) {
        return TypeParam(round_to_odd(sign * value)).bits & 0x7fff;
      };
      ASSERT_EQ(bits(middle), even) << low;
      ASSERT_EQ(bits(std::nextafter(middle, 0.0)), low) << low;
      ASSERT_EQ(bits(std::nextafter(middle, HUGE_VAL)), high) << low;
    }
  }
  for (const double value : {1e300, HUGE_VAL}) {
    EXPECT_EQ(TypeParam(round_to_odd(value)).bits, infinity);
    EXPECT_EQ(TypeParam(round_to_odd(-value)).bits, infinity | 0x8000);
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(
      TypeParam(round_to_odd(std::numeric_limits<double>::quiet_NaN())))));
}

TYPED_TEST(Halves, WhatIsTooLargeIsInfinite) {
  const std::uint16_t infinity = TypeParam(HUGE_VALF).bits;
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(TypeParam(most).bits, infinity);
  EXPECT_EQ(TypeParam(-most).bits, infinity | 0x8000);
}

template <class T>
void expect_bounds(DType dtype) {
  const auto lowest = static_cast<double>(std::numeric_limits<T>::lowest());
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  EXPECT_TRUE(holds(dtype, lowest));
  EXPECT_FALSE(holds(dtype, std::nextafter(lowest, -HUGE_VAL)));
  EXPECT_TRUE(holds(dtype, std::floor(std::nextafter(above, 0))));
  EXPECT_FALSE(holds(dtype, above));
  for (const double other : {0.5, -HUGE_VAL, HUGE_VAL, std::nan("")}) {
    EXPECT_FALSE(holds(dtype, other)) << other;
  }
}

TEST(DType, HoldsWholeNumbersWithinItsBounds) {
  expect_bounds<std::uint8_t>(DType::kU8);
  expect_bounds<std::int8_t>(DType::kI8);
  expect_bounds<std::int16_t>(DType::kI16);
  expect_bounds<std::int32_t>(DType::kI32);
  expect_bounds<std::int64_t>(DType::kI64);
  for (const DType dtype : {DType::kBool, DType::kF16, DType::kF64}) {
    EXPECT_TRUE(holds(dtype, 1e300));
  }
}

TEST(DType, NamesReadBack) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
        DType::kU8, DType::kI16, DType::kI32, DType::kI64, DType::kBool}) {
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
    dispatch(dtype, [&]<class T>(T) {
      EXPECT_EQ(dtype_of<T>(), dtype);
      EXPECT_EQ(sizeof(T), size_of(dtype));
    });
  }
  EXPECT_EQ(dtype_from_string("f33"), std::nullopt);
  EXPECT_EQ(dtype_from_string(""), std::nullopt);
}

}  // namespace
}  // namespace weft::dtype_test
