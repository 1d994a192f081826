#include <algorithm>
#include <cfloat>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/distances.h"
#include "tests/support/errors.h"

#include "weft/comm/codec/measure.h"
#include "weft/comm/codec/pipeline.h"

namespace weft::qsgd_test {
namespace {

using test::squared_distance;
using test::squared_norm;

struct Coded {
  Bytes bytes;
  std::vector<float> values;
  std::vector<float> residual;
};

Coded code(std::string_view text, std::span<const float> values,
           std::uint32_t step = 0) {
  const Pipeline pipeline(text);
  const MessageId id{.seed = 1, .step = step};
  Coded result;
  result.values.resize(values.size());
  result.residual.resize(values.size());
  ByteWriter out(result.bytes);
  pipeline.value_codec().encode(values, id, result.residual, out);
  ByteReader in(result.bytes, "qsgd");
  pipeline.value_codec().decode(in, id, result.values);
  in.expect_end();
  return result;
}

TEST(Qsgd, IsUnbiased) {
  constexpr std::uint32_t kDraws = 100000;
  const std::vector<float> values{0.3f, -0.7f, 0.01f, 0, 1.1f, -0.2f, 0.55f};
  const double norm = std::sqrt(squared_norm(values));
  for (const char* text : {"qsgd(2)", "qsgd(4)", "qsgd(8)"}) {
    const double unit =
        norm / ((1 << (text[5] - '0' - 1)) - 1);  // the norm over s
    std::vector<double> sum(values.size(), 0.0);
    const Pipeline pipeline(text);
    Bytes bytes;
    std::vector<float> decoded(values.size());
    for (std::uint32_t step = 0; step < kDraws; ++step) {
      const MessageId id{.seed = 1, .step = step};
      bytes.clear();
      ByteWriter out(bytes);
      pipeline.value_codec().encode(values, id, {}, out);
      ByteReader in(bytes, "qsgd");
      pipeline.value_codec().decode(in, id, decoded);
      for (std::size_t i = 0; i < values.size(); ++i) sum[i] += decoded[i];
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double level = std::fabs(values[i]) / unit;
      const double chance = level - std::floor(level);
      const double sigma = unit * std::sqrt(chance * (1 - chance) / kDraws);
      EXPECT_NEAR(sum[i] / kDraws, values[i], 4 * sigma + 1e-6) << text;
    }
  }
}

// E ||Q - v||^2 <= min(n/s^2, sqrt(n)/s) ||v||^2, and
// E count of those not 0 <= s (s + sqrt(n)).
TEST(Qsgd, KeepsTheBoundsOfThePaper) {
  constexpr std::size_t kSize = 512;
  constexpr std::uint32_t kDraws = 200;
  const auto values = synthetic_gradient(kSize);
  const double n = kSize;
  for (const int bits : {2, 3, 4, 8}) {
    const double s = (1 << (bits - 1)) - 1;
    double error = 0;
    double count = 0;
    for (std::uint32_t step = 0; step < kDraws; ++step) {
      const Coded coded = code(fmt::format("qsgd({})", bits), values, step);
      error += squared_distance(coded.values, values) / kDraws;
      count += static_cast<double>(kSize - static_cast<std::size_t>(std::count(
                                               coded.values.begin(),
                                               coded.values.end(), 0.0f))) /
               kDraws;
    }
    EXPECT_LE(error,
              std::min(n / (s * s), std::sqrt(n) / s) * squared_norm(values))
        << bits;
    EXPECT_LE(count, s * (s + std::sqrt(n))) << bits;
  }
}

TEST(Qsgd, HasTheSizeOfItsBits) {
  const auto values = synthetic_gradient(1000);
  for (std::size_t bits = 2; bits <= 8; ++bits) {
    EXPECT_EQ(
        code(fmt::format("qsgd({}, bucket=300)", bits), values).bytes.size(),
        4 * 4 + 3 * ((300 * bits + 7) / 8) + (100 * bits + 7) / 8);
  }
}

TEST(Qsgd, EliasCodingCarriesTheSameLevels) {
  const auto values = synthetic_gradient(1500);
  for (const int bits : {2, 4, 7, 8}) {
    for (const char* norm : {"l2", "max"}) {
      const Coded fixed =
          code(fmt::format("qsgd({}, norm={})", bits, norm), values);
      const Coded elias = code(
          fmt::format("qsgd({}, norm={}, coding=elias)", bits, norm), values);
      EXPECT_EQ(fixed.values, elias.values) << bits << norm;
      EXPECT_EQ(fixed.residual, elias.residual);
    }
  }
}

// With s = sqrt(n) levels the dense regime needs 2.8 n + 32 bits, and with one
// level the sparse regime far less than one bit a value.
TEST(Qsgd, EliasCodingIsShort) {
  std::vector<float> values(4096);
  const RandomStream random{1, 2, 3};
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const PhiloxBlock block = random.block(i);
    values[i] = normal_from(block[0], block[1])[0];
  }
  const auto dense = code("qsgd(7, bucket=4096, coding=elias)", values);
  EXPECT_LE(8.0 * static_cast<double>(dense.bytes.size()),
            2.8 * 4096 + 32 + 24);
  const auto sparse = code("qsgd(2, bucket=4096, coding=elias)", values);
  EXPECT_LE(8.0 * static_cast<double>(sparse.bytes.size()), 0.2 * 4096);
}

TEST(Qsgd, ValuesAndResidualsAddUp) {
  for (const char* text : {"qsgd(2)", "qsgd(8, norm=max)", "qsgd(5, bucket=7)",
                           "qsgd(3, coding=elias)"}) {
    const auto values = synthetic_gradient(999);
    const Coded coded = code(text, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(coded.residual[i], values[i] - coded.values[i]) << text;
    }
  }
}

TEST(Qsgd, OfNothingIsNothing) {
  for (const char* text : {"qsgd", "qsgd(coding=elias)"}) {
    // All zero, and too small for a scale.
    for (const float value : {0.0f, FLT_MIN / 2, -FLT_MIN}) {
      const std::vector<float> values(600, value);
      const Coded coded = code(text, values);
      EXPECT_EQ(coded.values, std::vector<float>(600, 0.0f)) << value;
      EXPECT_EQ(coded.residual, values);
    }
  }
}

TEST(Qsgd, StaysFiniteNearTheLargestFloat) {
  for (const char* text : {"qsgd(2)", "qsgd(8)", "qsgd(7, norm=max)"}) {
    const std::vector<float> values(600, -FLT_MAX);
    for (const float value : code(text, values).values) {
      EXPECT_TRUE(std::isfinite(value)) << text;
    }
  }
}

TEST(Qsgd, RefusesUnitsAndLevelsThatThereAreNot) {
  const Pipeline pipeline("qsgd(4)");
  const auto values = synthetic_gradient(100);
  const Coded coded = code("qsgd(4)", values);
  std::vector<float> decoded(100);
  for (const float unit : {-1.0f, INFINITY, NAN, FLT_MAX}) {
    Bytes damaged = coded.bytes;
    std::memcpy(damaged.data(), &unit, sizeof(unit));
    ByteReader in(damaged, "qsgd");
    test::expect_error(ErrorCode::kDataLoss, {"'unit'"},
                       [&] { pipeline.value_codec().decode(in, {}, decoded); });
  }
  Bytes damaged = coded.bytes;
  damaged[10] = std::byte{0xff};  // 15, where 14 is the highest
  ByteReader in(damaged, "qsgd");
  test::expect_error(ErrorCode::kDataLoss, {"'codes'"},
                     [&] { pipeline.value_codec().decode(in, {}, decoded); });
}

}  // namespace
}  // namespace weft::qsgd_test
