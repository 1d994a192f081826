// Deflated values and quantile buckets.
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <set>

#include "tests/comm/codec_harness.h"
#include "tests/support/errors.h"

namespace weft::deepreduce_value_test {
namespace {

using test::decode;
using test::encode;
using test::expect_error;
using test::random_values;
using test::round_trip;
using test::value_codec;
using Floats = std::vector<float>;

TEST(Deflate, IsExactAndSmallForRepeats) {
  const auto codec = value_codec("deflate");
  EXPECT_TRUE(codec->is_lossless());
  for (const std::size_t count : {0u, 1u, 1000u}) {
    const Floats values = random_values(count, 6);
    EXPECT_EQ(round_trip(*codec, values), values);
  }
  const Floats repeated(10000, 0.125f);
  EXPECT_LT(encode(*codec, repeated).bytes.size(), 200u);
  expect_error(ErrorCode::kInvalidArgument, {"'level' = 13 must be in [1, 12]"},
               [] {
                 value_codec("deflate", {{"level", std::int64_t{13}}});
               });
}

TEST(Deflate, RefusesAnotherNumberOfValues) {
  const auto codec = value_codec("deflate");
  const auto bytes = encode(*codec, Floats(10000, 0.125f)).bytes;
  for (const std::size_t count : {0u, 9999u, 10001u}) {
    expect_error(ErrorCode::kDataLoss, {"'values'"},
                 [&] { decode(*codec, bytes, count); });
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Bytes forged;
  ByteWriter out(forged);
  codec->encode(std::span(&nan, 1), {}, {}, out);
  expect_error(ErrorCode::kDataLoss, {"'values'", "not finite"},
               [&] { decode(*codec, forged, 1); });
}

TEST(Sketch, KeepsSignsAndMeansOfBuckets) {
  const auto codec = value_codec("sketch");
  const Floats values = random_values(6400, 5);
  const Floats decoded = round_trip(*codec, values);
  EXPECT_EQ(std::set(decoded.begin(), decoded.end()).size(), 64u);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::signbit(values[i]), std::signbit(decoded[i]));
  }
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0),
              std::accumulate(decoded.begin(), decoded.end(), 0.0), 1e-4);
  // Six bits a value, 64 means, and the lengths of 64 codes.
  EXPECT_NEAR(static_cast<double>(encode(*codec, values).bytes.size()),
              6400 * 0.75 + 256 + 40, 30);
}

TEST(Sketch, FewValuesAreExact) {
  const auto codec = value_codec("sketch");
  for (const std::size_t count : {0u, 1u, 2u, 20u}) {
    const Floats values = random_values(count, 2);
    EXPECT_EQ(round_trip(*codec, values), values);
  }
}

TEST(Sketch, RefusesDamage) {
  const auto codec = value_codec("sketch");
  Bytes bytes = encode(*codec, random_values(500, 2)).bytes;
  Bytes more = bytes;
  more[0] = std::byte{65};
  expect_error(ErrorCode::kDataLoss, {"'number of buckets'"},
               [&] { decode(*codec, more, 500); });
  // One bucket less than its numbers need.
  Bytes fewer = bytes;
  fewer[0] = std::byte{63};
  fewer.erase(fewer.begin() + 1, fewer.begin() + 5);
  expect_error(ErrorCode::kDataLoss, {"'buckets'", "without a mean"},
               [&] { decode(*codec, fewer, 500); });
}

}  // namespace
}  // namespace weft::deepreduce_value_test
