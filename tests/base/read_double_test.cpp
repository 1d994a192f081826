#include "weft/base/read_double.h"

#include <clocale>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>

namespace weft::read_double_test {
namespace {

double read(const std::string& text) {
  double value = 7;
  const auto [end, error] =
      read_double(text.data(), text.data() + text.size(), value);
  EXPECT_EQ(error, std::errc()) << text;
  EXPECT_EQ(end, text.data() + text.size()) << text;
  return value;
}

TEST(ReadDouble, RoundsWhatIsTooSmall) {
  EXPECT_EQ(read("1e-310"), 1e-310);
  EXPECT_EQ(read("3e-324"), std::numeric_limits<double>::denorm_min());
  for (const std::string text :
       {"2e-324", "1e-400", "0.5e-400", "1e-99999999999999999999"}) {
    EXPECT_EQ(read(text), 0) << text;
    EXPECT_FALSE(std::signbit(read(text))) << text;
    EXPECT_TRUE(std::signbit(read("-" + text))) << text;
  }
  EXPECT_EQ(read("0." + std::string(400, '0') + "1"), 0);
}

TEST(ReadDouble, HasInfinityForWhatIsTooLarge) {
  EXPECT_EQ(read("1e400"), HUGE_VAL);
  EXPECT_EQ(read("-0.5e400"), -HUGE_VAL);
  EXPECT_EQ(read("1" + std::string(400, '0') + "e-1"), HUGE_VAL);
}

TEST(ReadDouble, EndsWhereTheNumberDoes) {
  const std::string text = "1e-400x";
  double value = 7;
  const auto [end, error] =
      read_double(text.data(), text.data() + text.size(), value);
  EXPECT_EQ(error, std::errc());
  EXPECT_EQ(*end, 'x');
  EXPECT_EQ(read_double(end, text.data() + text.size(), value).ec,
            std::errc::invalid_argument);
}

}  // namespace
}  // namespace weft::read_double_test
