// Bloom filters and the policies that choose among their positives.
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

#include "tests/comm/codec_harness.h"
#include "tests/support/errors.h"

#include "weft/comm/codec/bloom_policy.h"
#include "weft/comm/codec/pipeline.h"

namespace weft::deepreduce_bloom_test {
namespace {

using test::decode;
using test::encode;
using test::expect_error;
using test::index_codec;
using test::random_support;
using Indices = std::vector<std::uint32_t>;

constexpr std::size_t kAll = SIZE_MAX;

BloomFilter filter_of(const Indices& keys, const BloomGeometry& geometry) {
  BloomFilter filter(geometry);
  for (const std::uint32_t key : keys) filter.insert(key);
  return filter;
}

Indices scan(const BloomFilter& filter, std::uint32_t size) {
  Indices positives;
  filter.scan(size, kAll, positives);
  return positives;
}

bool includes(const Indices& all, const Indices& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

std::size_t common(const Indices& a, const Indices& b) {
  Indices both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::back_inserter(both));
  return both.size();
}

Indices chosen(BloomPolicy policy, const BloomFilter& filter, Indices positives,
               std::size_t count, std::uint32_t step) {
  apply_bloom_policy(policy, filter, static_cast<std::uint32_t>(count),
                     {1, 2, step}, positives);
  return positives;
}

TEST(BloomFilter, HashesAsMurmur3Does) {
  // Published check values of MurmurHash3_x86_32 for four-byte keys.
  EXPECT_EQ(murmur3(0, 0), 0x2362F9DEu);
  EXPECT_EQ(murmur3(0x87654321u, 0), 0xF55B516Bu);
  EXPECT_EQ(murmur3(0x87654321u, 0x5082EDEEu), 0x2362F9DEu);
  EXPECT_EQ(murmur3(0xFFFFFFFFu, 0), 0x76293B50u);
}

TEST(BloomFilter, HasTheSizeOfTheFormula) {
  // 368 * 14.378 bits; the paper's 14.38 bits a key and ten hashes.
  const BloomGeometry geometry = bloom_geometry(368, 1e-3);
  EXPECT_EQ(geometry.bytes, 662u);
  EXPECT_EQ(geometry.hashes, 10);
  EXPECT_EQ(bloom_geometry(1000, 0.5).hashes, 1);
  EXPECT_EQ(bloom_geometry(1000, 0.25).hashes, 2);
  EXPECT_EQ(bloom_geometry(1, 0.5).bytes, 1u);
}

TEST(BloomFilter, ScanFindsWhatContainsSays) {
  // Sizes around the block of the scan and the width of vectors.
  for (const std::uint32_t size : {1u, 7u, 16u, 1023u, 1024u, 1025u, 5000u}) {
    for (const int hashes : {1, 2, 5, 17}) {
      for (const std::size_t bytes : {1u, 3u, 64u, 1000u}) {
        const Indices keys = random_support(size, 1 + size / 20, size);
        const BloomFilter filter = filter_of(keys, {bytes, hashes});
        Indices expected;
        for (std::uint32_t key = 0; key < size; ++key) {
          if (filter.contains(key)) expected.push_back(key);
        }
        EXPECT_EQ(scan(filter, size), expected)
            << size << " " << hashes << " " << bytes;
        EXPECT_TRUE(includes(expected, keys));
      }
    }
  }
}

TEST(BloomFilter, ModuloIsRightForAnySize) {
  // Hashes of 32 bits against sizes for which the reciprocal rounds most.
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{8191}, std::size_t{65535},
        std::size_t{1} << 20, (std::size_t{1} << 24) - 1}) {
    const BloomFilter filter =
        filter_of(random_support(3000, 1500, bytes), {bytes, 1});
    for (const std::uint32_t key : scan(filter, 3000)) {
      EXPECT_TRUE(filter.contains(key)) << bytes;
    }
  }
}

TEST(BloomFilter, OfEightBitsHoldsEverything) {
  const BloomFilter filter = filter_of(random_support(3000, 60, 1), {1, 4});
  EXPECT_EQ(filter.set_bits(), 8u);
  EXPECT_EQ(scan(filter, 3000).size(), 3000u);
}

TEST(BloomFilter, KeepsTheRateOfFalsePositives) {
  constexpr std::uint32_t kSize = 100000;
  constexpr int kFilters = 20;
  for (const double rate : {0.3, 0.1, 1e-2, 1e-3}) {
    for (const std::uint32_t count : {100u, 1000u}) {
      double found = 0;
      for (int i = 0; i < kFilters; ++i) {
        const Indices keys =
            random_support(kSize, count, static_cast<std::uint64_t>(i));
        const auto filter = filter_of(keys, bloom_geometry(count, rate));
        found += static_cast<double>(scan(filter, kSize).size() - count);
      }
      const double trials = static_cast<double>(kFilters) * (kSize - count);
      EXPECT_NEAR(found / trials, rate, 0.15 * rate) << count;
      // Each filter has a rate of its own, about which its positives vary:
      // its bits are set with a relative deviation near sqrt(0.4 / bits),
      // which the hashes multiply.
      const BloomGeometry geometry = bloom_geometry(count, rate);
      const double spread =
          geometry.hashes * rate *
          std::sqrt(0.4 / static_cast<double>(8 * geometry.bytes * kFilters));
      const double sigma =
          std::sqrt(rate * trials + spread * spread * trials * trials);
      const double exact =
          std::pow(1 - std::exp(-geometry.hashes * static_cast<double>(count) /
                                static_cast<double>(8 * geometry.bytes)),
                   geometry.hashes);
      EXPECT_NEAR(found, exact * trials, 4 * sigma) << rate << " " << count;
    }
  }
}

TEST(BloomPolicy, NamesAreChecked) {
  EXPECT_EQ(bloom_policy("p2"), BloomPolicy::kP2);
  const auto refuse = [](const Options& given,
                         std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { index_codec("bloom", given); });
  };
  refuse({{"policy", std::string("midle")}},
         {"midle", "did you mean 'middle'"});
  refuse({{"eps", 0.7}}, {"'eps' = 0.7 must be 0 or in [1e-09, 0.5]"});
  refuse({{"eps", -0.1}}, {"'eps' = -0.1"});
  EXPECT_NO_THROW(index_codec("bloom", {{"eps", 0.0}}));
}

TEST(BloomPolicy, TakesTheLeftMiddleAndRight) {
  const Indices keys = random_support(500, 6, 3);
  const BloomFilter filter = filter_of(keys, {8, 2});
  const Indices positives = scan(filter, 500);
  ASSERT_GT(positives.size(), 8u);
  const auto part = [&](std::size_t first) {
    return Indices(positives.begin() + static_cast<std::ptrdiff_t>(first),
                   positives.begin() + static_cast<std::ptrdiff_t>(first + 6));
  };
  const std::size_t spare = positives.size() - 6;
  EXPECT_EQ(chosen(BloomPolicy::kLeft, filter, positives, 6, 0), part(0));
  EXPECT_EQ(chosen(BloomPolicy::kNaive, filter, positives, 6, 0), part(0));
  EXPECT_EQ(chosen(BloomPolicy::kMiddle, filter, positives, 6, 0),
            part(spare / 2));
  EXPECT_EQ(chosen(BloomPolicy::kRight, filter, positives, 6, 0), part(spare));
  EXPECT_EQ(chosen(BloomPolicy::kP0, filter, positives, 6, 0), positives);
}

TEST(BloomPolicy, P1ChoosesEachPositiveEquallyOften) {
  const BloomFilter filter = filter_of({3, 5}, {1, 1});
  Indices positives(20);
  std::iota(positives.begin(), positives.end(), 100u);
  std::map<std::uint32_t, int> times;
  constexpr int kSteps = 4000;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const Indices some = chosen(BloomPolicy::kP1, filter, positives, 5, step);
    ASSERT_EQ(some.size(), 5u);
    for (const std::uint32_t index : some) ++times[index];
  }
  // A quarter of the steps, within 4 sigma.
  const double sigma = std::sqrt(kSteps * 0.25 * 0.75);
  for (const std::uint32_t index : positives) {
    EXPECT_NEAR(times[index], kSteps * 0.25, 4 * sigma) << index;
  }
}

// The conflict sets by their definition.
std::map<std::uint32_t, std::set<std::uint32_t>> conflict_sets(
    const BloomFilter& filter, const Indices& positives) {
  std::map<std::uint32_t, std::set<std::uint32_t>> sets;
  for (const std::uint32_t key : positives) {
    for (int i = 0; i < filter.hashes(); ++i) {
      sets[filter.bit_of(key, i)].insert(key);
    }
  }
  return sets;
}

TEST(BloomPolicy, P2TakesEverySingleton) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Indices keys = random_support(20000, 200, seed);
    const auto filter = filter_of(keys, bloom_geometry(200, 0.01));
    const Indices positives = scan(filter, 20000);
    const Indices some = chosen(BloomPolicy::kP2, filter, positives, 200, 0);
    EXPECT_TRUE(includes(positives, some));
    int singletons = 0;
    for (const auto& [bit, set] : conflict_sets(filter, positives)) {
      if (set.size() != 1) continue;
      ++singletons;
      // Only a key that was inserted can have set the bit.
      EXPECT_TRUE(includes(keys, {*set.begin()}));
      EXPECT_TRUE(includes(some, {*set.begin()}));
    }
    EXPECT_GT(singletons, 100);
  }
}

TEST(BloomPolicy, P2FindsMoreOfTheSupportThanP1) {
  std::size_t by_p1 = 0;
  std::size_t by_p2 = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Indices keys = random_support(20000, 200, seed);
    const auto filter = filter_of(keys, bloom_geometry(200, 0.01));
    const Indices positives = scan(filter, 20000);
    by_p1 += common(keys, chosen(BloomPolicy::kP1, filter, positives, 200, 0));
    by_p2 += common(keys, chosen(BloomPolicy::kP2, filter, positives, 200, 0));
  }
  // P1 misses about half, 198 false positives among 398; P2 has the
  // singletons for sure.
  EXPECT_NEAR(static_cast<double>(by_p1), 20 * 100.5, 20 * 10);
  EXPECT_GT(by_p2, by_p1 + 800);
}

TEST(BloomPolicy, P2EndsWhenEverythingIsInConflict) {
  const Indices keys = random_support(300, 200, 9);
  const BloomFilter filter = filter_of(keys, {1, 3});
  const Indices positives = scan(filter, 300);
  ASSERT_EQ(positives.size(), 300u);
  for (const std::size_t count : {1u, 8u, 200u, 299u, 300u}) {
    EXPECT_EQ(chosen(BloomPolicy::kP2, filter, positives, count, 0).size(),
              count);
  }
}

TEST(BloomCodec, BothEndsAgreeAndStepsDiffer) {
  constexpr std::uint32_t kSize = 30000;
  const Indices support = random_support(kSize, 300, 5);
  for (const std::string policy :
       {"naive", "p0", "p1", "p2", "left", "middle", "right"}) {
    const auto codec =
        index_codec("bloom", {{"eps", 0.01}, {"policy", policy}});
    const MessageId id{11, 3, 40, 2};
    const auto message = encode(*codec, support, kSize, id);
    EXPECT_TRUE(std::is_sorted(message.sent.begin(), message.sent.end()));
    // Another rank decodes it.
    EXPECT_EQ(decode(*codec, message.bytes, kSize, {11, 3, 40, 0}),
              message.sent)
        << policy;
    EXPECT_EQ(codec->sends_selected_values(), policy == "naive");
    const auto later = encode(*codec, support, kSize, {11, 3, 41, 2});
    EXPECT_EQ(later.bytes, message.bytes);
    EXPECT_EQ(later.sent != message.sent, policy == "p1" || policy == "p2")
        << policy;
    if (policy == "p0") {
      EXPECT_TRUE(includes(message.sent, support));
    } else {
      EXPECT_EQ(message.sent.size(), support.size()) << policy;
    }
  }
}

TEST(BloomCodec, HoldsTheSupportOfAnySize) {
  for (const std::uint32_t size : {1u, 2u, 9u, 100u, 1000u, 40000u}) {
    for (const std::uint32_t count : {0u, 1u, size / 100, size / 2, size}) {
      const Indices support = random_support(size, count, size + count);
      for (const double eps : {0.0, 0.5, 1e-4}) {
        for (const std::string policy : {"p0", "p1", "p2", "right"}) {
          const auto codec =
              index_codec("bloom", {{"eps", eps}, {"policy", policy}});
          const auto message = encode(*codec, support, size);
          EXPECT_EQ(decode(*codec, message.bytes, size), message.sent);
          if (policy == "p0") {
            EXPECT_TRUE(includes(message.sent, support));
          } else {
            EXPECT_EQ(message.sent.size(), count);
          }
        }
      }
    }
  }
}

TEST(BloomCodec, AutomaticRateIsSmallestForP0) {
  constexpr std::uint32_t kSize = 100000;
  for (const std::uint32_t count : {1000u, 10000u}) {
    const Indices support = random_support(kSize, count, 1);
    const auto total = [&](double eps) {
      const auto message =
          encode(*index_codec("bloom", {{"eps", eps}}), support, kSize);
      return static_cast<double>(message.bytes.size() +
                                 4 * message.sent.size());
    };
    const double automatic = total(0);
    for (const double factor : {0.1, 0.3, 3.0, 10.0}) {
      const double share = static_cast<double>(count) / kSize;
      const double best = share / (0.480453 * 32 * (1 - share));
      EXPECT_LT(automatic, 1.001 * total(best * factor)) << factor;
    }
  }
}

// With values of fewer bits a false positive costs less.
TEST(BloomCodec, AutomaticRateIsSmallestForQuantizedValues) {
  constexpr std::uint32_t kSize = 100000;
  std::vector<float> gradient(kSize);
  const RandomStream random{.seed = 4};
  for (std::uint32_t i = 0; i < kSize; ++i) {
    gradient[i] = normal_from(random.word(2 * i), random.word(2 * i + 1))[0];
  }
  const auto bytes = [&](const std::string& rate) {
    const Pipeline pipeline("topk(0.1) | index:bloom(" + rate +
                            "policy=p0) value:qsgd(7)");
    Message message;
    pipeline.encode(gradient, {}, {}, message);
    return static_cast<double>(message.bytes.size());
  };
  const double automatic = bytes("");
  for (const char* rate : {"eps=0.0072, ", "eps=0.1, "}) {
    EXPECT_LT(automatic, 0.97 * bytes(rate)) << rate;
  }
  EXPECT_LT(automatic, 1.01 * bytes("eps=0.03, "));
}

TEST(BloomCodec, HasTheVolumeOfTheFormulas) {
  // Shares of a dense f32 tensor: 9.585 bits a key at a rate of 1e-2, 14.378
  // at 1e-3, and 32 bits a value sent.
  constexpr std::uint32_t kSize = 36864;
  const auto volume = [&](double ratio, double eps, const char* policy) {
    const auto count = static_cast<std::uint32_t>(ratio * kSize);
    const auto message =
        encode(*index_codec("bloom", {{"eps", eps}, {"policy", policy}}),
               random_support(kSize, count, 17), kSize);
    return static_cast<double>(message.bytes.size() + 4 * message.sent.size()) /
           (4.0 * kSize);
  };
  EXPECT_NEAR(volume(0.10, 1e-2, "p0"), 0.139, 0.139 * 0.01);
  EXPECT_NEAR(volume(0.01, 1e-3, "p0"), 0.01546, 0.01546 * 0.015);
  EXPECT_NEAR(volume(0.01, 1e-3, "p1"), 0.01449, 0.01449 * 0.005);
}

// A message with a header of our choice.
Bytes forged(std::uint64_t count, int hashes, std::uint64_t declared,
             std::size_t filter_bytes, std::byte fill) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.write_varint(count);
  out.write(static_cast<std::uint8_t>(hashes));
  out.write_varint(declared);
  for (std::size_t i = 0; i < filter_bytes; ++i) bytes.push_back(fill);
  return bytes;
}

TEST(BloomCodec, RefusesWhatNoSenderWrites) {
  constexpr std::uint32_t kSize = 10000;
  const auto refuse = [&](const Bytes& bytes, const char* field,
                          const char* policy = "p0") {
    expect_error(ErrorCode::kDataLoss, {field}, [&] {
      decode(*index_codec("bloom", {{"policy", policy}}), bytes, kSize);
    });
  };
  constexpr std::byte kOnes{0xFF};
  constexpr std::byte kZeros{0};
  refuse(forged(100, 0, 100, 100, kZeros), "'hashes'");
  refuse(forged(100, 33, 100, 100, kZeros), "'hashes'");
  refuse(forged(100, 255, 100, 100, kZeros), "'hashes'");
  refuse(forged(100, 5, 101, 100, kZeros), "'filter'");
  refuse(forged(kSize + 1, 5, 1 << 20, 1 << 20, kZeros), "'count'");
  refuse(forged(~std::uint64_t{0}, 5, 100, 100, kZeros), "'count'");
  refuse(forged(100, 5, ~std::uint64_t{0}, 100, kZeros), "'filter bytes'");
  // Fewer bits than keys, or more bits set than they can set, would make
  // work out of proportion.
  refuse(forged(100, 5, 1, 1, kOnes), "'filter bytes'", "p2");
  refuse(forged(100, 5, 100, 100, kOnes), "'filter'");
  // An empty filter does not hold 100 keys.
  for (const char* policy : {"naive", "p0", "p1", "p2", "left", "right"}) {
    refuse(forged(100, 5, 100, 100, kZeros), "'count'", policy);
  }
}

TEST(BloomCodec, WorkIsBoundedForForgedFilters) {
  // Everything is positive and in conflict: must end, and soon.
  constexpr std::uint32_t kSize = 100000;
  const auto codec = index_codec("bloom", {{"policy", "p2"}});
  EXPECT_EQ(decode(*codec, forged(8, 1, 1, 1, std::byte{0xFF}), kSize).size(),
            8u);
  EXPECT_EQ(decode(*codec, forged(250, 32, 1000, 1000, std::byte{0xFF}), kSize)
                .size(),
            250u);
}

}  // namespace
}  // namespace weft::deepreduce_bloom_test
