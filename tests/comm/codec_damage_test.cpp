// Every registered stage on damaged messages: an Error(kDataLoss), or values,
// and nothing else. Sanitizers watch the rest.
#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/sample_pipelines.h"

#include "weft/comm/codec/measure.h"
#include "weft/comm/codec/pipeline.h"

namespace weft::codec_damage_test {
namespace {

constexpr MessageId kId{.seed = 9, .tensor = 1, .step = 2};
constexpr std::size_t kHeader = 10;

class Damage : public testing::TestWithParam<std::string> {
 protected:
  Damage() : pipeline_(GetParam(), {.min_elements = 0}) {}

  Bytes encoded(std::size_t size) const {
    Message message;
    pipeline_.encode(synthetic_gradient(size), {}, kId, message);
    return message.bytes;
  }

  // Whether the message is taken. Values, then, are finite.
  bool decodes(const Bytes& given, std::size_t size) const {
    // Exactly as large as the message, so that a byte too many is seen.
    const Bytes bytes(given.begin(), given.end());
    std::vector<float> values(size, 0.0f);
    try {
      pipeline_.decode(bytes, kId, values);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
      return false;
    }
    for (const float value : values) {
      EXPECT_TRUE(std::isfinite(value));
    }
    return true;
  }

  Pipeline pipeline_;
};

TEST_P(Damage, TruncationIsRefused) {
  for (const std::size_t size : {1u, 40u, 600u}) {
    const Bytes whole = encoded(size);
    EXPECT_TRUE(decodes(whole, size));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto end = whole.begin() + static_cast<std::ptrdiff_t>(length);
      EXPECT_FALSE(decodes(Bytes(whole.begin(), end), size))
          << length << " of " << whole.size();
    }
  }
}

TEST_P(Damage, BytesTooManyAreRefused) {
  for (const std::size_t size : {1u, 600u}) {
    Bytes longer = encoded(size);
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decodes(longer, size));
    longer.insert(longer.end(), 100, std::byte{0xff});
    EXPECT_FALSE(decodes(longer, size));
  }
}

TEST_P(Damage, FlippedBitsAreSurvived) {
  constexpr std::size_t kSize = 300;
  const Bytes whole = encoded(kSize);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    Bytes damaged = whole;
    damaged[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    const bool is_taken = decodes(damaged, kSize);
    // Plain f32 means the same with the flag that says so.
    constexpr std::size_t kBypassBit = 8;
    if (bit / 8 < kHeader && bit != kBypassBit) {
      EXPECT_FALSE(is_taken) << bit;
    }
  }
}

TEST_P(Damage, RandomBytesAreSurvived) {
  constexpr std::size_t kSize = 300;
  const Bytes whole = encoded(kSize);
  for (std::uint32_t round = 0; round < 500; ++round) {
    const RandomStream random{1, 2, round};
    Bytes damaged(whole.begin(), whole.begin() + kHeader);
    const std::size_t length = random.word(0) % (2 * whole.size());
    for (std::size_t i = 0; i < length; ++i) {
      damaged.push_back(static_cast<std::byte>(random.word(i + 1)));
    }
    decodes(damaged, kSize);
    // They are scattered among good ones.
    damaged = whole;
    for (std::size_t i = 0; i < 4 && whole.size() > kHeader; ++i) {
      const std::uint32_t word = random.word(i);
      damaged[kHeader + word % (whole.size() - kHeader)] =
          static_cast<std::byte>(word >> 24);
    }
    decodes(damaged, kSize);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Stages, Damage, testing::ValuesIn(test::sample_pipelines()),
    [](const auto& info) {
      std::string name;
      for (const char c : info.param) {
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      }
      return name;
    });

}  // namespace
}  // namespace weft::codec_damage_test
