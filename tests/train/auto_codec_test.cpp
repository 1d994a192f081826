#include "weft/train/sync/auto_codec.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

// Speeds of no machine: none is free, the other sends a twentieth at 1 GB/s
// each way.
const std::vector<CodecSpeed> kSpeeds = {
    {.codec = "none", .is_added_on_its_way = true},
    {.codec = "small",
     .ratio = 0.05,
     .encode_seconds_per_byte = 1e-9,
     .decode_seconds_per_byte = 1e-9}};

Topology network(double bits_per_s) { return {{{4, 1e-3, 8 / bits_per_s}}}; }

TEST(AutoCodec, CompressesOnSlowNetworksAndNotOnFastOnes) {
  EXPECT_EQ(price_codecs(kSpeeds, network(1e7), 1e6)[0].codec, "small");
  EXPECT_EQ(price_codecs(kSpeeds, network(1e11), 1e8)[0].codec, "none");
}

TEST(AutoCodec, BreaksEvenWhereBothCostTheSame) {
  const double bytes = 1e8;
  for (const CodecPrice& price : price_codecs(kSpeeds, network(1e8), bytes)) {
    if (price.codec == "none") continue;
    ASSERT_GT(price.pays_below, 0);
    const auto at = [&](double bits_per_s) {
      return price_codecs(kSpeeds, network(bits_per_s), bytes)[0].codec;
    };
    EXPECT_EQ(at(price.pays_below * 0.99), "small");
    EXPECT_EQ(at(price.pays_below * 1.01), "none");
  }
}

TEST(AutoCodec, PricesAGatheredMessageByWhatEveryCardCarries) {
  const auto prices = price_codecs(kSpeeds, network(1e7), 1e6);
  // Three messages of 50 kB at 10 Mbit/s, 1 ms, 1 ms to encode, 4 to decode.
  EXPECT_NEAR(prices[0].seconds, 3 * 0.05e6 * 8 / 1e7 + 1e-3 + 5e-3, 1e-9);
}

// What the codecs leave of ResNet-20's gradients (docs/results/comm.md).
TEST(AutoCodec, MeasuresRatiosAsOfRealGradients) {
  const CodecSpeed three_lc = measure_codec("3lc");
  EXPECT_NEAR(32 * three_lc.ratio, 0.277, 0.3 * 0.277);
  EXPECT_FALSE(three_lc.is_added_on_its_way);
  EXPECT_NEAR(measure_codec("qsgd(8)").ratio, 0.25, 0.01);
  EXPECT_NEAR(measure_codec("bf16").ratio, 0.5, 0.01);
  EXPECT_NEAR(measure_codec("none").ratio, 1, 0.01);
  EXPECT_GT(three_lc.encode_seconds_per_byte, 0);
  EXPECT_GT(three_lc.decode_seconds_per_byte, 0);
}

}  // namespace
}  // namespace weft
