#include "weft/train/sync/auto_codec.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "weft/comm/codec/pipeline.h"

namespace weft::auto_codec_test {
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

std::vector<CodecPrice> prices(std::span<const CodecSpeed> speeds,
                               const Topology& network, double bytes,
                               std::string_view policy) {
  return price_codecs(speeds, network, bytes,
                      parse_call(policy, sync_policy_registry(), "policy"));
}

TEST(AutoCodec, CompressesOnSlowNetworksAndNotOnFastOnes) {
  EXPECT_EQ(prices(kSpeeds, network(1e7), 1e6, "allreduce")[0].codec, "small");
  EXPECT_EQ(prices(kSpeeds, network(1e11), 1e8, "allreduce")[0].codec, "none");
}

TEST(AutoCodec, BreaksEvenWhereBothCostTheSame) {
  const double bytes = 1e8;
  for (const CodecPrice& price :
       prices(kSpeeds, network(1e8), bytes, "allreduce")) {
    if (price.codec == "none") continue;
    ASSERT_GT(price.pays_below, 0);
    const auto at = [&](double bits_per_s) {
      return prices(kSpeeds, network(bits_per_s), bytes, "allreduce")[0].codec;
    };
    EXPECT_EQ(at(price.pays_below * 0.99), "small");
    EXPECT_EQ(at(price.pays_below * 1.01), "none");
  }
}

TEST(AutoCodec, PricesAGatheredMessageByWhatEveryCardCarries) {
  const auto all = prices(kSpeeds, network(1e7), 1e6, "allreduce");
  // Three messages of 50 kB at 10 Mbit/s, 1 ms, 1 ms to encode, 4 to decode.
  EXPECT_NEAR(all[0].seconds, 3 * 0.05e6 * 8 / 1e7 + 1e-3 + 5e-3, 1e-9);
}

// Under a server the message is cut into the owners' shares, three quarters of
// which go elsewhere, and so come the changes back.
TEST(AutoCodec, PricesAServerByItsPushAndPull) {
  const auto all = prices(kSpeeds, network(1e7), 1e6, "server");
  EXPECT_EQ(all[0].codec, "small");
  EXPECT_NEAR(all[0].seconds,
              2 * (1e-3 + 0.75 * 0.05e6 * 8 / 1e7) + 1.25e-3 + 2e-3, 1e-9);
  // Push and pull of f32 move what the best all-reduce does.
  EXPECT_NEAR(all[1].seconds, 2 * (1e-3 + 0.75 * 1e6 * 8 / 1e7), 1e-9);
}

// Four ranks of a host share its card.
TEST(AutoCodec, CountsSharedCards) {
  const Topology flat = network(1e7);
  const Topology shared{
      {{4, 0, 1e-12},
       {4, flat.levels[0].latency, flat.levels[0].seconds_per_byte}}};
  for (const char* policy : {"allreduce", "server"}) {
    const auto price = [&](const Topology& topology, int ranks) {
      std::vector<CodecSpeed> free = kSpeeds;
      free[1].encode_seconds_per_byte = free[1].decode_seconds_per_byte = 0;
      free[1].ratio = 1e-3 / ranks;
      return prices(free, topology, 1e9, policy)[0].seconds;
    };
    // 16 ranks send four times what 4 do through each card, and more each.
    EXPECT_GT(price(shared, 1), 4 * price(flat, 1) * 0.99) << policy;
  }
}

// Codecs enrol themselves, and may stand in a loop of corrections, as the pull
// of a server is one.
TEST(AutoCodec, WeighsCodecsThatTrainingBears) {
  std::vector<std::string> candidates = codec_candidates();
  EXPECT_EQ(candidates.front(), "none");
  std::ranges::sort(candidates);
  EXPECT_EQ(candidates,
            (std::vector<std::string>{"3lc", "bf16", "none", "qsgd(8)"}));
  for (const std::string& candidate : candidates) {
    const Pipeline pipeline(candidate);
    EXPECT_FALSE(pipeline.declines_feedback()) << candidate;
    EXPECT_TRUE(pipeline.value_codec().is_for_dense()) << candidate;
  }
}

// What the codecs leave of ResNet-20's gradients (docs/results/comm.md): those
// of one worker, and of one of four.
TEST(AutoCodec, MeasuresRatiosAsOfRealGradients) {
  const CodecSpeed of_one = measure_codec("3lc", 1);
  const CodecSpeed of_four = measure_codec("3lc", 4);
  EXPECT_NEAR(32 * of_one.ratio, 0.322, 0.1 * 0.322);
  EXPECT_NEAR(32 * of_four.ratio, 0.86, 0.1 * 0.86);
  EXPECT_GT(measure_codec("3lc", 2).ratio, of_one.ratio);
  EXPECT_LT(measure_codec("3lc", 2).ratio, of_four.ratio);
  EXPECT_FALSE(of_four.is_added_on_its_way);
  EXPECT_NEAR(measure_codec("qsgd(8)", 4).ratio, 0.25, 0.01);
  EXPECT_NEAR(measure_codec("bf16", 4).ratio, 0.5, 0.01);
  EXPECT_NEAR(measure_codec("none", 4).ratio, 1, 0.01);
  EXPECT_GT(of_four.encode_seconds_per_byte, 0);
  EXPECT_GT(of_four.decode_seconds_per_byte, 0);
}

}  // namespace
}  // namespace weft::auto_codec_test
