// The codecs of DeepReduce in pipelines: what a receiver gets, what is left
// for later, and how many bytes travel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/comm/codec_harness.h"
#include "tests/support/errors.h"

#include "weft/comm/codec/pipeline.h"

namespace weft::deepreduce_pipeline_test {
namespace {

using test::expect_error;
using test::random_values;
using Floats = std::vector<float>;

// A convolution of ResNet-20: 3 x 3 x 64 x 64.
constexpr std::size_t kSize = 36864;
constexpr MessageId kId{5, 1, 30, 2};

struct Exchange {
  Message message;
  Floats decoded;
};

Exchange exchange(const std::string& text, const Floats& gradient) {
  const Pipeline pipeline(text);
  Exchange result;
  pipeline.encode(gradient, {}, kId, result.message);
  result.decoded.resize(gradient.size());
  pipeline.decode(result.message.bytes, {kId.seed, kId.tensor, kId.step, 0},
                  result.decoded);
  return result;
}

double squared_error(const Floats& a, const Floats& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::pow(static_cast<double>(a[i] - b[i]), 2);
  }
  return sum;
}

// The message's size over the bytes of a dense f32 tensor.
double volume(const std::string& text, const Floats& gradient) {
  return static_cast<double>(exchange(text, gradient).message.bytes.size()) /
         static_cast<double>(4 * gradient.size());
}

TEST(DeepReducePipeline, P0SendsTheGradientAtAllPositives) {
  const Floats gradient = random_values(kSize, 1);
  const auto topk = exchange("topk(0.01)", gradient);
  const auto p0 =
      exchange("topk(0.01) | index:bloom(eps=1e-2, policy=p0)", gradient);
  std::size_t extra = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    if (topk.decoded[i] != 0) {
      EXPECT_EQ(p0.decoded[i], gradient[i]);
    } else if (p0.decoded[i] != 0) {
      EXPECT_EQ(p0.decoded[i], gradient[i]);
      ++extra;
    }
  }
  EXPECT_NEAR(static_cast<double>(extra), 0.01 * 0.99 * kSize, 100);
  // So it is never worse than the sparsifier.
  EXPECT_LT(squared_error(gradient, p0.decoded),
            squared_error(gradient, topk.decoded));
}

TEST(DeepReducePipeline, PoliciesKeepTheOrderOfThePaper) {
  const Floats gradient = random_values(kSize, 2);
  const auto error = [&](const std::string& policy) {
    return squared_error(
        gradient,
        exchange("topk(0.01) | index:bloom(eps=1e-2, policy=" + policy + ")",
                 gradient)
            .decoded);
  };
  const double naive = error("naive");
  const double p1 = error("p1");
  const double p2 = error("p2");
  EXPECT_LT(error("p0"), p2);
  EXPECT_LT(p2, p1);
  EXPECT_LT(p1, naive);
  // The values that P1 sends are right; naive ones are at wrong places, and
  // sending nothing would be better.
  const double nothing = squared_error(gradient, Floats(kSize, 0.0f));
  EXPECT_LT(p1, nothing);
  EXPECT_GT(naive, nothing);
}

TEST(DeepReducePipeline, EveryCombinationDecodesToWhatItSaysItSent) {
  const Floats gradient = random_values(5000, 3);
  for (const std::string index :
       {"bloom", "bloom(eps=0.05, policy=p1)", "bloom(eps=0.05, policy=p2)",
        "bloom(eps=0.05, policy=naive)", "bitmap", "rle", "huffman", "delta",
        "delta(packing=bits)", "delta(packing=huffman)"}) {
    for (const std::string value :
         {"none", "qsgd(7)", "deflate", "sketch", "fit-poly",
          "fit-poly(knots=chord)", "fit-dexp"}) {
      for (const std::string tail : {"", " | zstd"}) {
        const std::string text =
            fmt::format("topk(0.03) | index:{} value:{}{}", index, value, tail);
        const Pipeline pipeline(text);
        Floats memory = random_values(5000, 4);
        Floats sum = gradient;
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += memory[i];
        Message message;
        pipeline.encode(gradient, memory, kId, message);
        Floats decoded(gradient.size());
        pipeline.decode(message.bytes, kId, decoded);
        SparseEntries entries;
        pipeline.decode_sparse(message.bytes, kId, 5000, entries);
        EXPECT_EQ(entries.indices, message.sent.indices) << text;
        EXPECT_EQ(entries.values, message.sent.values) << text;
        // Nothing is lost: what is not sent stays in the memory.
        for (std::size_t i = 0; i < sum.size(); ++i) {
          ASSERT_NEAR(memory[i] + decoded[i], sum[i], 1e-7) << text << " " << i;
        }
      }
    }
  }
}

TEST(DeepReducePipeline, HasTheVolumesOfTheFormulas) {
  const Floats gradient = random_values(kSize, 5);
  // Pairs of key and value: 64 bits for each of 1 % and 10 %.
  EXPECT_NEAR(volume("topk(0.01)", gradient), 0.020, 0.0002);
  EXPECT_NEAR(volume("topk(0.1)", gradient), 0.200, 0.0002);
  // 9.585 bits a key at a rate of 1e-2, 14.378 at 1e-3.
  EXPECT_NEAR(volume("topk(0.1) | index:bloom(eps=1e-2, policy=p0)", gradient),
              0.139, 0.139 * 0.01);
  EXPECT_NEAR(volume("topk(0.01) | index:bloom(eps=1e-3, policy=p0)", gradient),
              0.01546, 0.01546 * 0.015);
  EXPECT_NEAR(volume("topk(0.01) | index:bloom(eps=1e-3, policy=p1)", gradient),
              0.01449, 0.01449 * 0.01);
  // Values have eight bits here, and a norm for 512 of them.
  EXPECT_NEAR(
      volume("topk(0.1) | index:bloom(eps=1e-2, policy=p0) value:qsgd(8)",
             gradient),
      0.057, 0.057 * 0.03);
  // Fit-Poly: plain keys, and 12 bits for the place of each of 3,686 values.
  EXPECT_NEAR(volume("topk(0.1) | value:fit-poly", gradient),
              0.1 * (32 + 12) / 32, 0.003);
}

TEST(DeepReducePipeline, MessagesOfOtherOptionsAreRefused) {
  const Floats gradient = random_values(1000, 6);
  Message message;
  Pipeline("topk(0.01) | index:bloom(policy=p1)")
      .encode(gradient, {}, kId, message);
  Floats decoded(1000);
  expect_error(ErrorCode::kDataLoss, {"another pipeline"}, [&] {
    Pipeline("topk(0.01) | index:bloom(policy=p2)")
        .decode(message.bytes, kId, decoded);
  });
}

TEST(DeepReducePipeline, FitsAreNotForWholeTensors) {
  expect_error(ErrorCode::kInvalidArgument, {"fit-dexp", "topk"},
               [] { Pipeline("fit-dexp"); });
}

}  // namespace
}  // namespace weft::deepreduce_pipeline_test
