#include "weft/comm/codec/pipeline.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/errors.h"

#include "weft/comm/codec/measure.h"

namespace weft::pipeline_test {
namespace {

using test::expect_error;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr MessageId kId{.seed = 3, .tensor = 1, .step = 5, .sender = 2};

std::vector<float> decoded(const Pipeline& pipeline, const Message& message,
                           std::size_t size) {
  std::vector<float> values(size, 99.0f);
  pipeline.decode(message.bytes, kId, values);
  return values;
}

void refuse(std::string_view text, std::initializer_list<std::string> parts) {
  expect_error(ErrorCode::kInvalidArgument, parts, [&] { Pipeline{text}; });
}

TEST(PipelineText, IsCanonical) {
  EXPECT_EQ(Pipeline("none").text(), "none");
  EXPECT_EQ(Pipeline(" value:none ").text(), "none");
  EXPECT_EQ(Pipeline("zstd").text(), "none | zstd(level=1)");
  EXPECT_EQ(Pipeline("topk(0.5)").text(),
            "topk(ratio=0.5, count=0, method=exact, bucket=512) | index:raw "
            "value:none");
  EXPECT_EQ(
      Pipeline("topk(0.01)|value:qsgd( 7 , norm=\"max\" ) index:raw|zstd(3)")
          .text(),
      "topk(ratio=0.01, count=0, method=exact, bucket=512) | index:raw "
      "value:qsgd(bits=7, bucket=512, norm=max, coding=fixed) | "
      "zstd(level=3)");
  EXPECT_EQ(Pipeline("randomk | f16").text(),
            "randomk(ratio=0.01, scale=false) | f16");
}

TEST(PipelineText, OfTheTextIsTheText) {
  for (const char* text :
       {"none", "zstd", "topk(1e-7, count=3)", "randomk(0.25, scale=true)",
        "threshold(1e-20) | qsgd(2, coding=elias) | zstd", "bf16()"}) {
    const std::string once = Pipeline(text).text();
    EXPECT_EQ(Pipeline(once).text(), once);
  }
}

TEST(PipelineText, MistakesAreShownInTheirPlace) {
  refuse("", {"a pipeline needs a stage", "\"none\""});
  refuse("topk(0.01) | qsgdd(7)", {"no stage 'qsgdd' (did you mean 'qsgd'?)",
                                   "\n  topk(0.01) | qsgdd(7)"
                                   "\n               ^"});
  refuse("topk(0.01) | index:rawe value:none",
         {"no index codec 'rawe' (did you mean 'raw'?)",
          "\n                     ^"});
  refuse("qsgd(7, bukket=3)",
         {"unknown option 'bukket' (did you mean 'bucket'?)", "\n          ^"});
  refuse("qsgd(7.5)",
         {"option 'bits' is 7.5, but must be an integer", "\n       ^"});
  refuse("qsgd(9)", {"option 'bits' = 9 must be in [2, 8]", "\n       ^"});
  refuse("qsgd(bucket=3, 7)", {"needs its name", "\n                 ^"});
  refuse("none(7, 3)", {"none has no options"});
  refuse("qsgd(7, bits=3)", {"'bits' is given twice"});
  refuse("none(3)", {"none has no options"});
  refuse("qsgd(7", {"a ',' or ')' is due", "\n        ^"});
  refuse("qsgd(", {"a value is due"});
  refuse("qsgd(norm=\"max)", {"is not closed"});
  refuse("qsgd(1.2.3)", {"'1.2.3' is no value"});
  refuse("qsgd)", {"')' is not expected"});
  refuse("topk |", {"the name of a stage is due"});
  refuse("raw", {"'raw' is an index codec", "index:raw"});
  refuse("values:none", {"'values:' is not known"});
  refuse("topk(0)", {"option 'ratio' = 0 must be in (0, 1]"});
  refuse("topk(1.5)", {"must be in (0, 1]"});
  refuse("topk(nan)", {"option 'ratio'"});
  refuse("topk(method=best)",
         {"'method' = \"best\" is not known", "exact, bucket, sampled"});
  refuse("topk(count=-1)", {"'count' = -1 must be at least 0"});
  refuse("threshold(0)", {"'value' = 0 must be in [1e-45, "});
  refuse("zstd(99)", {"'level' = 99 must be in [1, 22]"});
}

TEST(PipelineText, SaysWhyStagesDoNotGoTogether) {
  refuse("index:raw value:f16",
         {"'raw' declines a whole tensor, because that has no indices",
          "\n        ^",
          "this works: topk(ratio=0.01, count=0, method=exact, bucket=512) | "
          "index:raw value:f16"});
  refuse("randomk | index:raw",
         {"'raw' declines 'randomk', because all ranks draw the same",
          "this works: randomk(ratio=0.01, scale=false)"});
  refuse("none | topk", {"this stage stands too late", "the order is"});
  refuse("topk none", {"a '|' is due"});
  refuse("none none", {"already stands at this place"});
  refuse("index:raw | value:none", {"between the same '|'"});
  refuse("zstd | none", {"between the same '|'"});
  refuse("topk | none | none", {"already stands"});
}

TEST(Pipeline, SaysWhatItIs) {
  const Pipeline none("none");
  EXPECT_TRUE(none.is_lossless());
  EXPECT_FALSE(none.needs_feedback());
  EXPECT_EQ(none.summable_as(), "f32");

  const Pipeline topk("topk");
  EXPECT_TRUE(topk.is_sparse());
  EXPECT_FALSE(topk.is_lossless());
  EXPECT_TRUE(topk.needs_feedback());
  EXPECT_FALSE(topk.has_shared_indices());
  EXPECT_EQ(topk.summable_as(), "");

  const Pipeline randomk("randomk | bf16");
  EXPECT_TRUE(randomk.has_shared_indices());
  EXPECT_TRUE(randomk.needs_feedback());
  EXPECT_EQ(randomk.summable_as(), "bf16");

  EXPECT_FALSE(Pipeline("randomk(scale=true)").needs_feedback());
  EXPECT_FALSE(Pipeline("qsgd").needs_feedback());
  EXPECT_TRUE(Pipeline("randomk(scale=true) | f16").needs_feedback());
  EXPECT_TRUE(Pipeline("zstd").is_lossless());
  EXPECT_EQ(Pipeline("zstd").summable_as(), "");
}

TEST(Pipeline, SmallTensorsTravelAsTheyAre) {
  const Pipeline pipeline("topk(0.1) | qsgd(2) | zstd", {.min_elements = 100});
  EXPECT_TRUE(pipeline.bypasses(99));
  EXPECT_FALSE(pipeline.bypasses(100));
  const auto gradient = synthetic_gradient(99);
  std::vector<float> memory(99, 0.5f);
  Message message;
  pipeline.encode(gradient, memory, kId, message);
  EXPECT_EQ(message.bytes.size(), 10 + 4 * gradient.size());
  EXPECT_TRUE(message.sent.indices.empty());
  const auto values = decoded(pipeline, message, 99);
  for (std::size_t i = 0; i < 99; ++i) {
    EXPECT_EQ(values[i], gradient[i] + 0.5f);
    EXPECT_EQ(memory[i], 0.0f);
  }
  SparseEntries entries;
  pipeline.decode_sparse(message.bytes, kId, 99, entries);
  EXPECT_EQ(entries.values, values);
  EXPECT_EQ(entries.indices.size(), 99u);
  EXPECT_EQ(entries.indices.back(), 98u);
}

TEST(Pipeline, NoElementsAreAMessageToo) {
  for (const char* text : {"none", "topk | zstd", "qsgd", "randomk"}) {
    const Pipeline pipeline(text, {.min_elements = 0});
    Message message;
    pipeline.encode({}, {}, kId, message);
    EXPECT_NO_THROW(pipeline.decode(message.bytes, kId, {})) << text;
  }
}

TEST(Pipeline, SparseAndDenseDecodingAgreeWithTheSender) {
  const auto gradient = synthetic_gradient(3000);
  for (const char* text :
       {"topk(0.05)", "topk(0.05) | qsgd(4)", "randomk(0.1) | bf16",
        "randomk(0.1, scale=true)", "threshold(0.05) | f16 | zstd"}) {
    const Pipeline pipeline(text);
    Message message;
    pipeline.encode(gradient, {}, kId, message);
    SparseEntries entries;
    pipeline.decode_sparse(message.bytes, kId, 3000, entries);
    EXPECT_FALSE(entries.indices.empty()) << text;
    EXPECT_EQ(entries.indices, message.sent.indices) << text;
    EXPECT_EQ(entries.values, message.sent.values) << text;
    EXPECT_EQ(entries.size, 3000u);
    std::vector<float> dense(3000, 0.0f);
    for (std::size_t i = 0; i < entries.indices.size(); ++i) {
      dense[entries.indices[i]] = entries.values[i];
    }
    EXPECT_EQ(decoded(pipeline, message, 3000), dense) << text;
  }
}

TEST(Pipeline, WhatIsNotSentIsRemembered) {
  constexpr std::size_t kSize = 2000;
  constexpr std::uint32_t kSteps = 20;
  for (const char* text : {"none", "f16", "bf16", "qsgd(4)", "topk(0.05)",
                           "topk(0.02) | qsgd(7) | zstd", "randomk(0.1)"}) {
    const Pipeline pipeline(text);
    std::vector<float> memory(kSize, 0.0f);
    std::vector<double> given(kSize, 0.0);
    std::vector<double> sent(kSize, 0.0);
    Message message;
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      const auto gradient = synthetic_gradient(kSize, step);
      const MessageId id{.seed = 1, .step = step};
      pipeline.encode(gradient, memory, id, message);
      std::vector<float> values(kSize);
      pipeline.decode(message.bytes, id, values);
      for (std::size_t i = 0; i < kSize; ++i) {
        given[i] += gradient[i];
        sent[i] += values[i];
      }
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      EXPECT_NEAR(sent[i] + memory[i], given[i], 1e-5) << text << " at " << i;
    }
  }
}

TEST(Pipeline, RefusesWhatIsNotFiniteAndForgetsNothing) {
  for (const char* text : {"none", "qsgd", "topk(0.1)", "f16 | zstd"}) {
    const Pipeline pipeline(text);
    const auto before = synthetic_gradient(1000, 2);
    for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
      auto gradient = synthetic_gradient(1000);
      gradient[777] = bad;
      auto memory = before;
      Message message;
      expect_error(ErrorCode::kNumeric, {"element 777 of 1000"},
                   [&] { pipeline.encode(gradient, memory, kId, message); });
      EXPECT_EQ(memory, before) << text;
      expect_error(ErrorCode::kNumeric, {"element 777"},
                   [&] { pipeline.encode(gradient, {}, kId, message); });
    }
    // Finite numbers whose sum is not.
    auto gradient = synthetic_gradient(1000);
    auto memory = before;
    gradient[3] = memory[3] = std::numeric_limits<float>::max();
    const auto kept = memory;
    Message message;
    expect_error(ErrorCode::kNumeric, {"element 3 of"},
                 [&] { pipeline.encode(gradient, memory, kId, message); });
    EXPECT_EQ(memory, kept) << text;
  }
}

// A sparsifier may scale what it has picked.
TEST(Pipeline, NothingThatIsNotFiniteIsSentOrDecoded) {
  const std::string text = "randomk(0.1, scale=true)";
  const Pipeline pipeline(text, {.min_elements = 0});
  const std::vector<float> gradient(100, 1e38f);
  Message message;
  expect_error(ErrorCode::kNumeric, {"times 10"},
               [&] { pipeline.encode(gradient, {}, kId, message); });
  const std::vector<float> smaller(100, 1e37f);
  pipeline.encode(smaller, {}, kId, message);
  // The last value of the message, by its exponent.
  message.bytes.back() = std::byte{0x7f};
  expect_error(ErrorCode::kDataLoss, {"'values'", "not finite"},
               [&] { decoded(pipeline, message, 100); });
}

TEST(Pipeline, RefusesMessagesOfOthers) {
  const auto gradient = synthetic_gradient(1000);
  const Pipeline sender("topk(0.1)");
  Message message;
  sender.encode(gradient, {}, kId, message);
  std::vector<float> values(1000);
  std::vector<float> fewer(999);
  expect_error(
      ErrorCode::kDataLoss, {"'fingerprint'", "another pipeline"},
      [&] { Pipeline("topk(0.2)").decode(message.bytes, kId, values); });
  expect_error(ErrorCode::kDataLoss, {"'elements'", "1000", "999"},
               [&] { sender.decode(message.bytes, kId, fewer); });
  auto newer = message.bytes;
  newer[0] = std::byte{2};
  expect_error(ErrorCode::kDataLoss, {"'version'"},
               [&] { sender.decode(newer, kId, values); });
  auto flagged = message.bytes;
  flagged[1] = std::byte{2};
  expect_error(ErrorCode::kDataLoss, {"'flags'"},
               [&] { sender.decode(flagged, kId, values); });
  auto longer = message.bytes;
  longer.push_back(std::byte{0});
  expect_error(ErrorCode::kDataLoss, {"1 bytes too many"},
               [&] { sender.decode(longer, kId, values); });
}

TEST(Pipeline, TakesNoMemoryThatTheReceiverDoesNotExpect) {
  // A kilobyte of zstd that unpacks to far more than 300 values need.
  const Pipeline honest("zstd", {.min_elements = 0});
  const std::vector<float> zeros(1 << 20, 0.0f);
  Message message;
  honest.encode(zeros, {}, kId, message);
  ASSERT_LT(message.bytes.size(), 4096u);
  const std::uint32_t claimed = 300;
  std::memcpy(message.bytes.data() + 2, &claimed, sizeof(claimed));
  std::vector<float> values(300);
  expect_error(ErrorCode::kDataLoss, {"zstd", "more than"},
               [&] { honest.decode(message.bytes, kId, values); });
}

TEST(Pipeline, MessagesDependOnlyOnTheirIdentity) {
  const auto gradient = synthetic_gradient(1000);
  const Pipeline pipeline("qsgd(4)");
  Message first;
  Message again;
  Message other;
  pipeline.encode(gradient, {}, kId, first);
  pipeline.encode(synthetic_gradient(5000), {}, kId, again);
  pipeline.encode(gradient, {}, kId, again);
  EXPECT_EQ(first.bytes, again.bytes);
  MessageId later = kId;
  later.step += 1;
  pipeline.encode(gradient, {}, later, other);
  EXPECT_NE(first.bytes, other.bytes);
  later = kId;
  later.sender += 1;
  pipeline.encode(gradient, {}, later, other);
  EXPECT_NE(first.bytes, other.bytes);
}

}  // namespace
}  // namespace weft::pipeline_test
