#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "tests/support/distances.h"

#include "weft/comm/codec/measure.h"
#include "weft/comm/codec/pipeline.h"
#include "weft/comm/codec/topk_select.h"

namespace weft::sparsifier_test {
namespace {

using test::squared_norm;

using Indices = std::vector<std::uint32_t>;

Indices pick(std::string_view text, std::span<const float> values,
             const MessageId& id = {}) {
  const Pipeline pipeline(text);
  Indices indices;
  pipeline.sparsifier()->select(values, id, indices);
  return indices;
}

// The plain way is to sort: magnitudes descending, then indices ascending.
Indices largest_by_sorting(std::span<const float> values, std::size_t count) {
  Indices order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return std::fabs(values[a]) > std::fabs(values[b]);
  });
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

TEST(SelectLargest, EqualsSorting) {
  for (const std::size_t size : {1u, 2u, 15u, 16u, 17u, 100u, 5000u}) {
    auto values = synthetic_gradient(size);
    for (std::size_t i = 0; i < size; i += 3) {
      values[i] = static_cast<float>(i % 7) - 3;  // many ties
    }
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size / 100,
                                    size / 3, size / 2, size - 1, size}) {
      Indices found;
      select_largest(values, static_cast<std::uint32_t>(count), found);
      EXPECT_EQ(found, largest_by_sorting(values, count))
          << count << " of " << size;
    }
  }
}

TEST(SelectLargest, TellsNeighbouringFloatsApart) {
  // Keys that differ in each of the three digits only.
  std::vector<float> values;
  for (const std::uint32_t key : {0x3f800000u, 0x3f800001u, 0x3f800400u,
                                  0x3f900000u, 0x00000001u, 0x7f7fffffu}) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      values.push_back(std::bit_cast<float>(key | sign));
    }
  }
  for (std::size_t count = 0; count <= values.size(); ++count) {
    Indices found;
    select_largest(values, static_cast<std::uint32_t>(count), found);
    EXPECT_EQ(found, largest_by_sorting(values, count)) << count;
  }
}

TEST(SelectLargest, TakesTheLowerOfEquals) {
  for (const float value : {0.0f, -0.0f, 1.5f}) {
    const std::vector<float> values(100, value);
    Indices found;
    select_largest(values, 37, found);
    Indices first(37);
    std::iota(first.begin(), first.end(), 0u);
    EXPECT_EQ(found, first);
  }
}

TEST(SelectFrom, TakesTheThresholdItself) {
  auto values = synthetic_gradient(1001);
  values[1000] = -0.02f;
  Indices expected;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (std::fabs(values[i]) >= 0.02f) expected.push_back(i);
  }
  EXPECT_EQ(pick("threshold(0.02)", values), expected);
  EXPECT_EQ(count_from(values, 0.02f), expected.size());
  EXPECT_EQ(pick("threshold(1e9)", values), Indices());
}

TEST(TopK, PicksAShareButAtLeastOne) {
  const auto values = synthetic_gradient(1000);
  EXPECT_EQ(pick("topk(0.01)", values).size(), 10u);
  EXPECT_EQ(pick("topk(0.0159)", values).size(), 15u);
  EXPECT_EQ(pick("topk(1e-9)", values).size(), 1u);
  EXPECT_EQ(pick("topk(1.0)", values).size(), 1000u);
  EXPECT_EQ(pick("topk(count=7)", values).size(), 7u);
  EXPECT_EQ(pick("topk(count=5000)", values).size(), 1000u);
  EXPECT_TRUE(pick("topk", {}).empty());
  EXPECT_EQ(pick("topk(0.01)", values), largest_by_sorting(values, 10));
}

// sum of squares left out <= (1 - K/n) of all; equal for equal magnitudes.
TEST(TopK, LeavesOutNoMoreThanItsShare) {
  const auto left_out = [](std::span<const float> values, double ratio,
                           const char* method) {
    std::vector<float> rest(values.begin(), values.end());
    const auto picked = pick(
        fmt::format("topk({}, method={}, bucket=64)", ratio, method), values);
    for (const std::uint32_t i : picked) rest[i] = 0;
    return squared_norm(rest);
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto values = synthetic_gradient(640, seed);
    for (const double ratio : {0.125, 0.25, 0.5}) {
      for (const char* method : {"exact", "bucket"}) {
        EXPECT_LE(left_out(values, ratio, method),
                  (1 - ratio) * squared_norm(values));
      }
    }
  }
  std::vector<float> equal(640, 2.0f);
  for (std::size_t i = 0; i < equal.size(); i += 2) equal[i] = -2.0f;
  EXPECT_DOUBLE_EQ(left_out(equal, 0.25, "exact"), 0.75 * squared_norm(equal));
}

TEST(TopK, OfBucketsPicksTheLargestOfEach) {
  const auto values = synthetic_gradient(1000);
  const auto picked = pick("topk(0.1, method=bucket, bucket=64)", values);
  Indices expected;
  for (std::size_t begin = 0; begin < 1000; begin += 64) {
    const auto bucket = std::span<const float>(values).subspan(
        begin, std::min<std::size_t>(64, 1000 - begin));
    for (const auto i : largest_by_sorting(bucket, bucket.size() / 10)) {
      expected.push_back(static_cast<std::uint32_t>(begin + i));
    }
  }
  EXPECT_EQ(picked, expected);
  const std::vector<float> equal(100, 1.0f);
  EXPECT_EQ(pick("topk(0.05, method=bucket, bucket=50)", equal),
            (Indices{0, 1, 50, 51}));
}

TEST(TopK, BySampleComesNearItsShare) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto values = synthetic_gradient(100000, seed);
    for (const double ratio : {0.001, 0.01, 0.1}) {
      const auto picked = pick(fmt::format("topk({}, method=sampled)", ratio),
                               values, {.seed = seed});
      const double wanted = ratio * 100000;
      EXPECT_GE(static_cast<double>(picked.size()), 0.7 * wanted);
      EXPECT_LE(static_cast<double>(picked.size()), 1.3 * wanted);
      // Nothing larger was left behind.
      EXPECT_EQ(picked, largest_by_sorting(values, picked.size()));
    }
  }
}

// No threshold tells equals apart.
TEST(TopK, BySamplePicksItsShareOfEquals) {
  for (const float value : {0.37f, 1e-45f, 3e38f}) {
    const std::vector<float> equal(10000, value);
    EXPECT_EQ(pick("topk(0.01, method=sampled)", equal).size(), 100u) << value;
  }
}

TEST(TopK, BySampleNeverPicksZeros) {
  std::vector<float> values(10000, 0.0f);
  EXPECT_TRUE(pick("topk(0.1, method=sampled)", values).empty());
  values[1234] = 1;
  EXPECT_EQ(pick("topk(0.1, method=sampled)", values), Indices{1234});
}

// One rank, n = 3, K = 1, the same gradient (3, 2, 1) at every step.
TEST(TopK, HandCaseWithFeedback) {
  const Pipeline pipeline("topk(count=1)", {.min_elements = 0});
  const std::vector<float> gradient{3, 2, 1};
  std::vector<float> memory(3, 0.0f);
  const std::vector<std::pair<std::uint32_t, float>> sent{
      {0, 3}, {1, 4}, {0, 6}, {1, 4}};  // the last is a tie
  const std::vector<std::vector<float>> left{
      {0, 2, 1}, {3, 0, 2}, {0, 2, 3}, {3, 0, 4}};
  Message message;
  for (std::uint32_t step = 0; step < 4; ++step) {
    pipeline.encode(gradient, memory, {.step = step}, message);
    EXPECT_EQ(message.sent.indices, Indices{sent[step].first}) << step;
    EXPECT_EQ(message.sent.values, std::vector<float>{sent[step].second});
    EXPECT_EQ(memory, left[step]) << step;
  }
}

// A mean whose largest entry no rank picks is sent one step later.
TEST(TopK, CancelledEntriesDoNotHideOthersForEver) {
  const Pipeline pipeline("topk(count=1)", {.min_elements = 0});
  const std::vector<float> zero(3, 0.0f);
  const std::vector<std::vector<float>> gradients{{10, 0, 9}, {-10, 0, 9}};
  for (const auto& gradient : gradients) {
    std::vector<float> memory(3, 0.0f);
    Message message;
    pipeline.encode(gradient, memory, {}, message);
    EXPECT_EQ(message.sent.indices, Indices{0});
    pipeline.encode(zero, memory, {.step = 1}, message);
    EXPECT_EQ(message.sent.indices, Indices{2});
    EXPECT_EQ(message.sent.values, std::vector<float>{9});
    EXPECT_EQ(memory, zero);
  }
}

// A small constant gradient among noise is sent once enough has gathered.
TEST(TopK, StarvesNoCoordinate) {
  constexpr std::size_t kSize = 100;
  constexpr float kDelta = 0.05f;
  const Pipeline pipeline("topk(0.1)", {.min_elements = 0});
  std::vector<float> memory(kSize, 0.0f);
  Message message;
  std::uint32_t step = 0;
  for (; step < 400; ++step) {
    const RandomStream random{1, 2, step};
    std::vector<float> gradient(kSize, kDelta);
    for (std::uint32_t i = 1; i < kSize; ++i) {
      gradient[i] = 2 * uniform_from(random.word(i)) - 1;
    }
    pipeline.encode(gradient, memory, {.step = step}, message);
    if (message.sent.indices[0] == 0) break;
  }
  EXPECT_GT(step, 1 / kDelta / 4);
  EXPECT_LT(step, 8 / kDelta);
}

TEST(RandomK, DrawsTheSameOnAllRanksAndOthersEachStep) {
  const auto values = synthetic_gradient(5000);
  const MessageId id{.seed = 1, .tensor = 2, .step = 3, .sender = 0};
  MessageId other_rank = id;
  other_rank.sender = 9;
  MessageId other_step = id;
  other_step.step = 4;
  MessageId other_tensor = id;
  other_tensor.tensor = 5;
  const auto picked = pick("randomk(0.1)", values, id);
  EXPECT_EQ(picked, pick("randomk(0.1)", values, other_rank));
  EXPECT_NE(picked, pick("randomk(0.1)", values, other_step));
  EXPECT_NE(picked, pick("randomk(0.1)", values, other_tensor));
  EXPECT_EQ(picked, pick("randomk(0.1)", synthetic_gradient(5000, 9), id));
}

TEST(RandomK, DrawsWithoutReplacement) {
  for (const std::uint32_t size : {1u, 2u, 63u, 64u, 65u, 1000u}) {
    const std::vector<float> values(size, 1.0f);
    for (const double ratio : {1e-9, 0.1, 0.5, 0.99, 1.0}) {
      for (std::uint32_t step = 0; step < 20; ++step) {
        const auto picked =
            pick(fmt::format("randomk({})", ratio), values, {.step = step});
        EXPECT_EQ(picked.size(),
                  std::max(1u, static_cast<std::uint32_t>(ratio * size)));
        EXPECT_TRUE(std::is_sorted(picked.begin(), picked.end()));
        EXPECT_EQ(std::set(picked.begin(), picked.end()).size(), picked.size());
        EXPECT_LT(picked.back(), size);
      }
    }
  }
}

// Each entry is in K/n of the draws, and each pair in its share.
TEST(RandomK, IsUniform) {
  constexpr std::uint32_t kSize = 10;
  constexpr std::uint32_t kDraws = 20000;
  const Pipeline pipeline("randomk(0.3)");
  std::array<int, kSize> single{};
  std::array<std::array<int, kSize>, kSize> pairs{};
  for (std::uint32_t step = 0; step < kDraws; ++step) {
    Indices picked;
    pipeline.sparsifier()->draw(kSize, {.seed = 5, .step = step}, picked);
    for (const auto i : picked) {
      ++single[i];
      for (const auto j : picked) ++pairs[i][j];
    }
  }
  const auto within = [&](int count, double chance) {
    const double sigma = std::sqrt(kDraws * chance * (1 - chance));
    EXPECT_NEAR(count, kDraws * chance, 4 * sigma);
  };
  for (std::size_t i = 0; i < kSize; ++i) {
    within(single[i], 0.3);
    for (std::size_t j = 0; j < i; ++j) within(pairs[i][j], 0.3 * 2 / 9);
  }
}

TEST(RandomK, ScaledIsUnbiased) {
  constexpr std::uint32_t kSize = 20;
  constexpr std::uint32_t kDraws = 20000;
  const auto values = synthetic_gradient(kSize);
  const Pipeline pipeline("randomk(0.25, scale=true)", {.min_elements = 0});
  std::vector<double> sum(kSize, 0.0);
  Message message;
  for (std::uint32_t step = 0; step < kDraws; ++step) {
    pipeline.encode(values, {}, {.seed = 2, .step = step}, message);
    for (std::size_t i = 0; i < message.sent.indices.size(); ++i) {
      sum[message.sent.indices[i]] += message.sent.values[i];
    }
  }
  for (std::size_t i = 0; i < kSize; ++i) {
    // Variance of one draw: (n/K - 1) v^2.
    const double sigma = std::sqrt(3.0 / kDraws) * std::fabs(values[i]);
    EXPECT_NEAR(sum[i] / kDraws, values[i], 4 * sigma) << i;
  }
}

}  // namespace
}  // namespace weft::sparsifier_test
