#include "weft/train/step/beam_search.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "weft/base/philox.h"

namespace weft::beam_search_test {
namespace {

using Words = std::vector<std::int32_t>;

constexpr std::int64_t kWords = 4;
constexpr std::int32_t kBegin = 0;
constexpr std::int32_t kEnd = 1;

// A model whose next word depends on all words before it, at random.
std::vector<double> next_of(std::span<const std::int32_t> told) {
  std::uint32_t key = 17;
  for (const std::int32_t word : told) {
    key = key * 31 + static_cast<std::uint32_t>(word) + 1;
  }
  std::vector<double> weights;
  double all = 0;
  for (std::uint32_t i = 0; i < kWords; ++i) {
    weights.push_back(
        std::exp(3 * uniform_from(RandomStream{7, key, 0}.word(i))));
    all += weights.back();
  }
  for (double& weight : weights) weight = std::log(weight / all);
  return weights;
}

Tensor model(std::span<const std::int32_t> told, std::int64_t length) {
  const auto size = static_cast<std::size_t>(length);
  const auto rows = static_cast<Dim>(told.size() / size);
  Tensor result = Tensor::empty({DType::kF32, {rows, kWords}});
  for (Dim row = 0; row < rows; ++row) {
    const auto next =
        next_of(told.subspan(static_cast<std::size_t>(row) * size, size));
    for (Dim i = 0; i < kWords; ++i) {
      result.data<float>()[row * kWords + i] =
          static_cast<float>(next[static_cast<std::size_t>(i)]);
    }
  }
  return result;
}

// All sequences of at most `most` words with their end, scored one by one.
void enumerate(Words told, double log_probability, const BeamOptions& options,
               std::vector<Hypothesis>& all) {
  const auto next = next_of(told);
  const double whole = log_probability + next[kEnd];
  all.push_back({{told.begin() + 1, told.end()},
                 whole,
                 whole / std::pow(static_cast<double>(told.size()),
                                  options.length_penalty)});
  if (std::ssize(told) >= options.most_words) return;
  for (std::int32_t word = 0; word < kWords; ++word) {
    if (word == kEnd || std::ranges::count(options.never, word) > 0) continue;
    Words longer = told;
    longer.push_back(word);
    enumerate(longer, log_probability + next[static_cast<std::size_t>(word)],
              options, all);
  }
}

BeamOptions options_of(std::int64_t width, double length_penalty) {
  return {.width = width,
          .length_penalty = length_penalty,
          .most_words = 5,
          .first_word = kBegin,
          .last_word = kEnd,
          .never = {kBegin},
          .look_ahead = 5};
}

TEST(BeamSearch, FindsWhatTryingAllFinds) {
  for (const double length_penalty : {0.0, 0.6, 1.0, 2.0}) {
    // Wide enough for all beginnings of two words, four deep.
    const BeamOptions options = options_of(16, length_penalty);
    std::vector<Hypothesis> all;
    enumerate({kBegin}, 0, options, all);
    std::ranges::sort(all, std::ranges::greater(), &Hypothesis::score);
    const auto found = beam_search(1, options, model).at(0);
    ASSERT_EQ(found.size(), 16u);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].words, all[i].words) << length_penalty << ", " << i;
      EXPECT_NEAR(found[i].log_probability, all[i].log_probability, 1e-5);
      EXPECT_NEAR(found[i].score, all[i].score, 1e-5);
    }
  }
}

TEST(BeamSearch, OfOneKeepsTheMostProbableWord) {
  const BeamOptions options = options_of(1, 0);
  Words told{kBegin};
  double log_probability = 0;
  double best = -1e9;
  Words best_words;
  for (int i = 0; i < 5; ++i) {
    const auto next = next_of(told);
    if (log_probability + next[kEnd] > best) {
      best = log_probability + next[kEnd];
      best_words = {told.begin() + 1, told.end()};
    }
    const std::int32_t word = next[2] > next[3] ? 2 : 3;
    log_probability += next[static_cast<std::size_t>(word)];
    told.push_back(word);
  }
  EXPECT_EQ(beam_search(1, options, model)[0][0].words, best_words);
}

TEST(BeamSearch, GivesUpWhatIsNotBetterSoon) {
  BeamOptions options = options_of(2, 1);
  std::int64_t calls = 0;
  const auto counted = [&](std::span<const std::int32_t> told,
                           std::int64_t length) {
    ++calls;
    // The end is sure, so that going on is dear.
    Tensor next = model(told, length);
    for (Dim row = 0; row < next.shape()[0]; ++row) {
      next.data<float>()[row * kWords + kEnd] = 0;
    }
    return next;
  };
  options.look_ahead = 1;
  beam_search(1, options, counted);
  EXPECT_LT(calls, 5);
}

TEST(BeamSearch, SearchesForEachSequenceByItself) {
  const BeamOptions options = options_of(3, 1);
  const auto alone = beam_search(1, options, model).at(0);
  for (const auto& found : beam_search(4, options, model)) {
    ASSERT_EQ(found.size(), alone.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].words, alone[i].words);
    }
  }
}

TEST(BeamSearch, OfAtMostOneWordIsTheEmptySequence) {
  BeamOptions options = options_of(4, 1);
  options.most_words = 1;
  const auto found = beam_search(1, options, model).at(0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].words.empty());
}

}  // namespace
}  // namespace weft::beam_search_test
