// Value codecs of few levels: 3lc, terngrad, int8, onebit, f16, bf16.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/comm/codec/magnitude.h"
#include "weft/comm/codec/measure.h"
#include "weft/comm/codec/pipeline.h"

namespace weft::quantizers_test {
namespace {

using Values = std::vector<float>;

struct Coded {
  Bytes bytes;
  Values values;
  Values residual;
};

Coded code(std::string_view text, const Values& values,
           const MessageId& id = {}) {
  const Pipeline pipeline(text);
  Coded result;
  result.values.resize(values.size(), 99);
  result.residual.resize(values.size(), 99);
  ByteWriter out(result.bytes);
  pipeline.value_codec().encode(values, id, result.residual, out);
  ByteReader in(result.bytes, "codec");
  pipeline.value_codec().decode(in, id, result.values);
  in.expect_end();
  return result;
}

float scale_in(const Coded& coded) {
  float scale;
  std::memcpy(&scale, coded.bytes.data(), sizeof(scale));
  return scale;
}

std::vector<int> payload_of(const Coded& coded) {
  std::vector<int> result;
  for (std::size_t i = 8; i < coded.bytes.size(); ++i) {
    result.push_back(std::to_integer<int>(coded.bytes[i]));
  }
  return result;
}

TEST(ThreeLc, HandCase) {
  const Values b{-.3f, .1f, -.4f, 0, .2f, -.1f, -.1f, -.1f, 0, .3f};
  const Coded fine = code("3lc(1)", b);
  EXPECT_EQ(scale_in(fine), .4f);
  EXPECT_EQ(payload_of(fine), (std::vector<int>{13, 122}));
  const float m = .4f;
  EXPECT_EQ(fine.residual, (Values{-.3f + m, .1f, -.4f + m, 0, .2f, -.1f, -.1f,
                                   -.1f, 0, .3f - m}));
  EXPECT_EQ(fine.values, (Values{-m, 0, -m, 0, 0, 0, 0, 0, 0, m}));

  const Coded coarse = code("3lc(s=1.75)", b);
  EXPECT_FLOAT_EQ(scale_in(coarse), .7f);
  EXPECT_EQ(payload_of(coarse), (std::vector<int>{94, 121}));
  EXPECT_FLOAT_EQ(coarse.residual[2], .3f);
}

TEST(ThreeLc, RefusesToSendNothingForEver) {
  for (const char* text : {"3lc(2)", "3lc(0.99)"}) {
    test::expect_error(ErrorCode::kInvalidArgument, {"must be in [1, 2)"},
                       [&] { Pipeline{text}; });
  }
}

// |residual| <= M / 2, at least one value is sent, and with s = 1 the largest
// exactly.
TEST(ThreeLc, SendsTheLargestAndKeepsLittle) {
  for (const double s : {1.0, 1.5, 1.9, 1.9999998, 1.99999999999}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Values values = synthetic_gradient(1000, seed);
      if (seed == 0) values.assign(1000, -1.5f);
      if (seed == 1) values.assign(1, std::nextafter(1.0f, 2.0f));
      const Coded coded = code(fmt::format("3lc({})", s), values);
      const float scale = scale_in(coded);
      EXPECT_LE(largest_magnitude(coded.residual), scale / 2);
      EXPECT_GT(largest_magnitude(coded.values), 0) << s;
      const auto largest = std::max_element(
          values.begin(), values.end(),
          [](float a, float b) { return std::fabs(a) < std::fabs(b); });
      const auto at = static_cast<std::size_t>(largest - values.begin());
      EXPECT_NE(coded.values[at], 0);
      if (s == 1.0) {
        EXPECT_EQ(coded.residual[at], 0);
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(coded.residual[i], values[i] - coded.values[i]);
      }
    }
  }
}

// If no gradient exceeds G, no residual ever exceeds G s / (2 - s).
TEST(ThreeLc, ResidualsStayBounded) {
  constexpr std::size_t kSize = 256;
  for (const double s : {1.0, 1.5, 1.75, 1.9}) {
    const Pipeline pipeline(fmt::format("3lc({})", s));
    for (const bool is_adverse : {false, true}) {
      Values memory(kSize, 0.0f);
      Message message;
      float most = 0;
      for (std::uint32_t step = 0; step < 300; ++step) {
        const RandomStream random{7, 0, step};
        Values gradient(kSize);
        for (std::uint32_t i = 0; i < kSize; ++i) {
          const float noise = 2 * uniform_from(random.word(i)) - 1;
          // Adverse: pushes each residual away from zero.
          gradient[i] = is_adverse ? std::copysign(noise, memory[i]) : noise;
        }
        pipeline.encode(gradient, memory, {.step = step}, message);
        most = std::max(most, largest_magnitude(memory));
      }
      EXPECT_LE(most, s / (2 - s) * (1 + 1e-5)) << s;
      EXPECT_GT(most, 0.3);
    }
  }
}

TEST(ThreeLc, ConservesWhatItIsGiven) {
  constexpr std::size_t kSize = 500;
  for (const char* text : {"3lc(1)", "3lc(1.9)", "3lc(1.5, zero_run=false)"}) {
    const Pipeline pipeline(text);
    Values memory(kSize, 0.0f);
    std::vector<double> given(kSize, 0.0);
    std::vector<double> sent(kSize, 0.0);
    Message message;
    for (std::uint32_t step = 0; step < 100; ++step) {
      // Multiples of 2^-12: no sum is rounded, so equality is exact.
      Values gradient = synthetic_gradient(kSize, step);
      for (float& each : gradient) each = std::round(each * 4096) / 4096;
      pipeline.encode(gradient, memory, {.step = step}, message);
      Values values(kSize);
      pipeline.decode(message.bytes, {.step = step}, values);
      for (std::size_t i = 0; i < kSize; ++i) {
        given[i] += gradient[i];
        sent[i] += values[i];
      }
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      if (std::string_view(text) == "3lc(1)") {
        EXPECT_EQ(sent[i] + memory[i], given[i]) << i;
      } else {
        EXPECT_NEAR(sent[i] + memory[i], given[i], 1e-4) << text;
      }
    }
  }
}

TEST(ThreeLc, IsNeverLongerThanItsBound) {
  for (const std::size_t size : {0u, 1u, 4u, 5u, 6u, 999u, 1000u}) {
    const Values values = synthetic_gradient(size);
    EXPECT_LE(code("3lc", values).bytes.size(), 8 + (size + 4) / 5);
    if (size == 0) continue;
    EXPECT_EQ(code("3lc(zero_run=false)", values).bytes.size(),
              4 + (size + 4) / 5);
  }
  // 350 values of which one is not 0: 70 bytes, 69 of them zeros.
  Values values(350, 0.0f);
  values[0] = 1;
  EXPECT_EQ(payload_of(code("3lc", values)),
            (std::vector<int>{202, 255, 255, 255, 255, 254}));
}

TEST(ThreeLc, OfOrdinaryNoiseIsAboutAsShortAsThePaperSays) {
  // Normal values, n = 10^4: 0.81 bits at s = 1, 0.127 at 1.75.
  Values values(10000);
  const RandomStream random{3, 1, 4};
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const PhiloxBlock block = random.block(i);
    values[i] = normal_from(block[0], block[1])[0];
  }
  const auto bits = [&](const char* text) {
    return 8.0 * static_cast<double>(code(text, values).bytes.size()) / 10000;
  };
  EXPECT_NEAR(bits("3lc(1)"), 0.81, 0.35);
  EXPECT_NEAR(bits("3lc(1.75)"), 0.127, 0.03);
  EXPECT_LT(bits("3lc(1.5)"), bits("3lc(1)"));
}

TEST(ThreeLc, TakesSubnormalsForZero) {
  const Values values(300, FLT_MIN / 4);
  const Coded coded = code("3lc", values);
  EXPECT_EQ(coded.bytes.size(), 4u);
  EXPECT_EQ(coded.values, Values(300, 0.0f));
  EXPECT_EQ(coded.residual, values);
}

TEST(ThreeLc, StaysFiniteNearTheLargestFloat) {
  const Coded coded = code("3lc(1.9)", Values{FLT_MAX, -FLT_MAX, 0, 1});
  EXPECT_TRUE(std::isfinite(largest_magnitude(coded.values)));
  EXPECT_NE(coded.values[0], 0);
}

// Quantizing gradient + memory in two passes gives the bytes of adding first.
TEST(Quantizers, GiveTheSameBytesWithMemory) {
  for (const auto& def : value_codec_registry().all()) {
    const Options options = complete(def.options, {}, def.name);
    const auto codec = def.make(options);
    if (!codec->is_for_dense()) continue;
    for (const std::size_t size : {1u, 100u, 1003u}) {
      const Values gradient = synthetic_gradient(size, 1);
      Values memory = synthetic_gradient(size, 2);
      Values sum(size);
      for (std::size_t i = 0; i < size; ++i) sum[i] = gradient[i] + memory[i];
      const MessageId id{.seed = 4};
      Bytes with_memory;
      ByteWriter with_memory_out(with_memory);
      codec->encode_with_memory(gradient, memory, largest_magnitude(sum), id,
                                with_memory_out);
      Bytes plain;
      ByteWriter plain_out(plain);
      Values residual(size);
      codec->encode(sum, id, residual, plain_out);
      EXPECT_EQ(with_memory, plain) << def.name;
      EXPECT_EQ(memory, residual) << def.name;
      // In place, too.
      Bytes in_place;
      ByteWriter in_place_out(in_place);
      codec->encode(sum, id, sum, in_place_out);
      EXPECT_EQ(in_place, plain) << def.name;
      EXPECT_EQ(sum, residual) << def.name;
    }
  }
}

// decoded + residual = value, with the decoded value that the receiver has.
TEST(Quantizers, LeaveWhatTheReceiverLacks) {
  for (const auto& def : value_codec_registry().all()) {
    const auto codec = def.make(complete(def.options, {}, def.name));
    for (const std::size_t size : {0u, 1u, 5u, 16u, 17u, 700u, 1003u}) {
      const Values values = synthetic_gradient(size);
      Bytes bytes;
      ByteWriter out(bytes);
      Values residual(size, 99);
      codec->encode(values, {}, residual, out);
      Values decoded(size, 99);
      ByteReader in(bytes, def.name);
      codec->decode(in, {}, decoded);
      in.expect_end();
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(residual[i], values[i] - decoded[i]) << def.name << i;
      }
      if (codec->is_lossless()) {
        EXPECT_EQ(decoded, values) << def.name;
      }
    }
  }
}

TEST(TernGrad, IsUnbiased) {
  constexpr std::uint32_t kDraws = 100000;
  const Values values{0.3f, -0.7f, 0.01f, 0, 1.1f, -0.2f, 0.55f};
  const Pipeline pipeline("terngrad");
  std::vector<double> sum(values.size(), 0.0);
  Values decoded(values.size());
  Bytes bytes;
  for (std::uint32_t step = 0; step < kDraws; ++step) {
    const MessageId id{.seed = 1, .step = step};
    bytes.clear();
    ByteWriter out(bytes);
    pipeline.value_codec().encode(values, id, {}, out);
    ByteReader in(bytes, "terngrad");
    pipeline.value_codec().decode(in, id, decoded);
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += decoded[i];
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = std::fabs(values[i]);
    const double sigma = std::sqrt(v * std::max(0.0, 1.1 - v) / kDraws);
    EXPECT_NEAR(sum[i] / kDraws, values[i], 4 * sigma + 1e-6) << i;
  }
}

// Different values of one tensor must not share their random numbers.
TEST(TernGrad, DrawsForEachValue) {
  const Values values = [] {
    Values equal(5000, 0.5f);
    equal[0] = 1;
    return equal;
  }();
  const Coded coded = code("terngrad", values);
  // Neighbours, and the same column of other parts, are sent independently.
  for (const std::size_t distance : {1u, 16u, 64u, 320u, 1000u, 2000u}) {
    double both = 0;
    for (std::size_t i = 1; i + distance < 5000; ++i) {
      both += coded.values[i] != 0 && coded.values[i + distance] != 0;
    }
    const double count = static_cast<double>(4999 - distance);
    EXPECT_NEAR(both / count, 0.25, 5 * 0.44 / std::sqrt(count)) << distance;
  }
}

TEST(Int8, RoundsTo255Levels) {
  const Values values{127, -127, 63.4f, -63.6f, 0.4f, 0.6f, 0};
  const Coded coded = code("int8", values);
  EXPECT_EQ(coded.values, (Values{127, -127, 63, -64, 0, 1, 0}));
  EXPECT_EQ(coded.bytes.size(), 4 + values.size());
  const Values noise = synthetic_gradient(1000);
  EXPECT_LE(largest_magnitude(code("int8", noise).residual),
            largest_magnitude(noise) / 254 * 1.0001f);
}

TEST(OneBit, HasTheTwoMeans) {
  const Values values{1, -2, 3, -4, 0, -0.0f};
  const Coded coded = code("onebit", values);
  EXPECT_EQ(coded.values, (Values{1, -3, 1, -3, 1, 1}));
  EXPECT_EQ(coded.bytes.size(), 9u);
  // No other two levels have a smaller squared error: it has no slope there.
  const Values noise = synthetic_gradient(1003);
  const Coded noisy = code("onebit", noise);
  double above = 0;
  double below = 0;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    (noise[i] < 0 ? below : above) += noisy.residual[i];
  }
  EXPECT_NEAR(above, 0, 1e-4);
  EXPECT_NEAR(below, 0, 1e-4);
  EXPECT_EQ(code("onebit", Values(70, 2.0f)).values, Values(70, 2.0f));
  EXPECT_EQ(code("onebit", Values(70, -2.0f)).values, Values(70, -2.0f));
}

TEST(Halves, RoundToNearestAndSaturate) {
  const Values values{1.0f,         1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f,
                      1e6f,         FLT_MAX,        -FLT_MAX,
                      1 + 0x1p-11f, 65520.0f,       0x1p-24f};
  EXPECT_EQ(code("bf16", values).values,
            (Values{1.0f, 1.0f, 1.0f + 0x1p-6f, 999424.0f, 0x1.FEp127f,
                    -0x1.FEp127f, 1.0f, 65536.0f, 0x1p-24f}));
  EXPECT_EQ(code("f16", values).values,
            (Values{1.0f, 1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f, 65504, 65504,
                    -65504, 1.0f, 65504, 0x1p-24f}));
}

}  // namespace
}  // namespace weft::quantizers_test
