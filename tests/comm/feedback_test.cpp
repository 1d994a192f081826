// Loops of corrections, as the pull of a server and every memory of what was
// not sent are: each message carries what the ones before left out. What
// Pipeline::declines_feedback() accepts follows a moving target; the codecs
// that it refuses for their random rounding do not.
#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/sample_pipelines.h"

#include "weft/base/philox.h"
#include "weft/comm/codec/pipeline.h"

namespace weft::feedback_test {
namespace {

constexpr std::size_t kSize = 1024;
constexpr int kSteps = 200;

// Pushes and pulls for kSteps: the target moves at random, the copy takes what
// is decoded. The largest distance between them in the first half, and in the
// second.
struct Distances {
  double before = 0;
  double after = 0;
};

Distances follow(const Pipeline& pipeline) {
  std::vector<double> truth(kSize);
  std::vector<double> copy(kSize);
  std::vector<float> difference(kSize);
  std::vector<float> decoded(kSize);
  Message message;
  Distances result;
  for (int step = 0; step < kSteps; ++step) {
    const auto number = static_cast<std::uint32_t>(step);
    const RandomStream random{.seed = 3, .stream = 0, .step = number};
    for (std::size_t i = 0; i < kSize; ++i) {
      const float z =
          normal_from(random.word(2 * i), random.word(2 * i + 1))[0];
      truth[i] += 0.01 * static_cast<double>(z * std::abs(z));
      difference[i] = static_cast<float>(truth[i] - copy[i]);
    }
    const MessageId id{.seed = 1, .tensor = 2, .step = number};
    pipeline.encode(difference, {}, id, message);
    pipeline.decode(message.bytes, id, decoded);
    double square = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      copy[i] += static_cast<double>(decoded[i]);
      square += (truth[i] - copy[i]) * (truth[i] - copy[i]);
    }
    double& worst = step < kSteps / 2 ? result.before : result.after;
    worst = std::max(worst, std::sqrt(square));
    if (!(worst < 1e6)) break;  // no number any more, soon
  }
  return result;
}

std::vector<std::string> texts() {
  std::vector<std::string> all = test::sample_pipelines();
  for (int bits = 2; bits <= 8; ++bits) {
    for (const char* norm : {"l2", "max"}) {
      for (const int bucket : {16, 64, 128, 512}) {
        all.push_back(
            fmt::format("qsgd({}, norm={}, bucket={})", bits, norm, bucket));
      }
    }
  }
  for (const char* more :
       {"3lc(1.5)", "3lc(1.99)", "topk(0.01)", "topk(0.1) | qsgd(4)",
        "topk(0.1) | terngrad", "randomk(0.1)", "randomk(0.1, scale=true)"}) {
    all.emplace_back(more);
  }
  return all;
}

TEST(Feedback, FollowsWithWhateverItAccepts) {
  int accepted = 0;
  for (const std::string& text : texts()) {
    const Pipeline pipeline(text, {.min_elements = 0});
    if (pipeline.declines_feedback()) continue;
    ++accepted;
    const Distances distances = follow(pipeline);
    EXPECT_LE(distances.after, 2 * distances.before) << text;
  }
  EXPECT_GT(accepted, 40);
}

// The target moves by about 0.55 in a step. A copy by terngrad does not run
// away for ever, as values that have grown alike are sent as they are, but it
// ends many steps off.
TEST(Feedback, RefusesWhatDiverges) {
  struct Refused {
    const char* text;
    double distance;
  };
  for (const auto& [text, distance] : {Refused{"qsgd(2)", 100},
                                       {"qsgd(4)", 100},
                                       {"terngrad", 5},
                                       {"randomk(0.1, scale=true)", 100},
                                       {"topk(0.5) | qsgd(2)", 100}}) {
    const Pipeline pipeline(text, {.min_elements = 0});
    EXPECT_TRUE(pipeline.declines_feedback()) << text;
    const Distances distances = follow(pipeline);
    EXPECT_GT(std::max(distances.before, distances.after), distance) << text;
  }
}

TEST(Feedback, NamesTheNearestThatWorks) {
  EXPECT_THAT(Pipeline("qsgd(4)").declines_feedback().value().instead,
              testing::AllOf(testing::HasSubstr("qsgd(bits=5, bucket=512)"),
                             testing::HasSubstr("qsgd(bits=4, bucket=128)")));
  for (const char* works :
       {"qsgd(bits=5, bucket=512)", "qsgd(bits=4, bucket=128)"}) {
    EXPECT_FALSE(Pipeline(works).declines_feedback()) << works;
  }
  EXPECT_THAT(Pipeline("terngrad").declines_feedback().value().instead,
              testing::HasSubstr("3lc"));
  EXPECT_THAT(
      Pipeline("randomk(0.2, scale=true)").declines_feedback().value().instead,
      testing::HasSubstr("randomk(0.2)"));
}

}  // namespace
}  // namespace weft::feedback_test
