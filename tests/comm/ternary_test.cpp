#include <cmath>
#include <gtest/gtest.h>

#include "weft/comm/codec/ternary_pack.h"

namespace weft::ternary_test {
namespace {

using HWY_NAMESPACE::pack_ternary;
using HWY_NAMESPACE::TernaryPlace;
using HWY_NAMESPACE::ValueStream;

std::vector<int> integers_of(const Bytes& bytes) {
  std::vector<int> result;
  for (const std::byte each : bytes) {
    result.push_back(std::to_integer<int>(each));
  }
  return result;
}

Bytes pack(const std::vector<float>& digits) {
  Bytes packed(ternary_bytes(digits.size()));
  const ValueStream stream(digits, {});
  pack_ternary(digits.size(), packed.data(), [&](const TernaryPlace& place) {
    return stream.load(place.first, place.count);
  });
  return packed;
}

Bytes shorten(Bytes bytes) {
  bytes.resize(shorten_zero_runs(bytes));
  return bytes;
}

TEST(Ternary, ReadsBackEveryByte) {
  for (int code = 0; code < 243; ++code) {
    std::vector<float> digits(5);
    int rest = code;
    for (std::size_t i = 5; i-- > 0; rest /= 3) {
      digits[i] = static_cast<float>(rest % 3 - 1);
    }
    const Bytes packed = pack(digits);
    EXPECT_EQ(integers_of(packed), std::vector<int>{code});
    std::vector<float> values(5);
    EXPECT_TRUE(unpack_ternary(packed, 1, values));
    EXPECT_EQ(values, digits);
  }
  std::vector<float> values(5);
  for (int code = 243; code < 256; ++code) {
    EXPECT_FALSE(
        unpack_ternary(Bytes{static_cast<std::byte>(code)}, 1, values));
  }
}

TEST(Ternary, ReadsBackEveryLength) {
  for (std::size_t size = 0; size <= 400; ++size) {
    std::vector<float> digits(size);
    for (std::size_t i = 0; i < size; ++i) {
      digits[i] = static_cast<float>((i * i + i / 3) % 3) - 1;
    }
    std::vector<float> values(size, 9.0f);
    EXPECT_TRUE(unpack_ternary(pack(digits), 0.5f, values));
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(values[i], 0.5f * digits[i]) << i << " of " << size;
    }
  }
}

// One value in five bytes' worth of parts: the others are zeros.
TEST(Ternary, PadsWithZerosAndReadsAnyPadding) {
  EXPECT_EQ(integers_of(pack({1})), std::vector<int>{2 * 81 + 40});
  std::vector<float> values(1);
  EXPECT_TRUE(unpack_ternary(Bytes{std::byte{2 * 81}}, 3, values));
  EXPECT_EQ(values[0], 3.0f);
}

TEST(ZeroRuns, HaveTheCodesOfThePaper) {
  const auto run = [](std::size_t length) {
    return integers_of(shorten(Bytes(length, std::byte{121})));
  };
  using Codes = std::vector<int>;
  EXPECT_EQ(run(1), (Codes{121}));
  EXPECT_EQ(run(2), (Codes{243}));
  EXPECT_EQ(run(14), (Codes{255}));
  EXPECT_EQ(run(15), (Codes{255, 121}));
  EXPECT_EQ(run(16), (Codes{255, 243}));
  EXPECT_EQ(run(28), (Codes{255, 255}));
  EXPECT_EQ(run(29), (Codes{255, 255, 121}));
  EXPECT_EQ(run(70), (Codes{255, 255, 255, 255, 255}));
}

TEST(ZeroRuns, ReadBackAndNeverGrow) {
  for (std::size_t length = 0; length <= 60; ++length) {
    for (std::size_t before = 0; before <= 9; ++before) {
      for (const std::size_t after : {0u, 1u, 3u, 8u}) {
        Bytes bytes(before, std::byte{7});
        bytes.insert(bytes.end(), length, std::byte{121});
        bytes.insert(bytes.end(), after, std::byte{242});
        bytes.insert(bytes.end(), length / 2, std::byte{121});
        const Bytes shortened = shorten(bytes);
        EXPECT_LE(shortened.size(), bytes.size());
        Bytes expanded(bytes.size());
        EXPECT_TRUE(expand_zero_runs(shortened, expanded));
        EXPECT_EQ(expanded, bytes);
        if (bytes.empty()) continue;
        Bytes too_small(bytes.size() - 1);
        EXPECT_FALSE(expand_zero_runs(shortened, too_small));
        Bytes too_large(bytes.size() + 1);
        EXPECT_FALSE(expand_zero_runs(shortened, too_large));
      }
    }
  }
}

}  // namespace
}  // namespace weft::ternary_test
