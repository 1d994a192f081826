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

}  // namespace
}  // namespace weft
