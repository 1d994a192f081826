#include "weft/train/step/bleu.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace weft::bleu_test {
namespace {

using Words = std::vector<std::int32_t>;

double bleu(const Words& translation, const Words& reference) {
  BleuCounts counts;
  counts.add(translation, reference);
  return counts.score();
}

TEST(Bleu, IsTheMeanOfFourPrecisions) {
  EXPECT_DOUBLE_EQ(bleu({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}), 100);
  // 4 of 5 words, 3 of 4 pairs, 2 of 3 triples, 1 of 2 runs of four.
  EXPECT_NEAR(bleu({1, 2, 3, 4, 5}, {1, 2, 3, 4, 6}),
              100 * std::pow(4.0 / 5 * 3 / 4 * 2 / 3 * 1 / 2, 0.25), 1e-10);
  EXPECT_EQ(bleu({1, 2, 3, 4}, {5, 6, 7, 8}), 0);
}

TEST(Bleu, PunishesShortTextsAndNoLongOnes) {
  EXPECT_NEAR(bleu({1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}), 100 * std::exp(-0.5),
              1e-10);
  // 4 of 6 words, 3 of 5, 2 of 4, 1 of 3.
  EXPECT_NEAR(bleu({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4}),
              100 * std::pow(4.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25), 1e-10);
}

// The score is what sacreBLEU's smoothing "exp" gives: no pair, triple or run
// of four is shared.
TEST(Bleu, CountsRepetitionsOnceAndHalvesWhatIsMissing) {
  EXPECT_NEAR(bleu({1, 1, 1, 1}, {1, 2, 1, 3}),
              100 * std::pow(2.0 / 4 * (0.5 / 3) * (0.25 / 2) * 0.125, 0.25),
              1e-10);
}

TEST(Bleu, IsOfAWholeText) {
  BleuCounts counts;
  counts.add(Words{1, 2, 3, 4}, Words{1, 2, 3, 4});
  counts.add(Words{1, 9}, Words{1, 2});
  counts.add(Words{}, Words{});
  // 5 of 6 words, 3 of 4 pairs, all triples and the run of four.
  EXPECT_NEAR(counts.score(), 100 * std::pow(5.0 / 6 * 3 / 4, 0.25), 1e-10);
}

TEST(Bleu, OfATextWithoutRunsOfFourIsZero) {
  EXPECT_EQ(bleu({1, 2, 3}, {1, 2, 3}), 0);
  EXPECT_EQ(BleuCounts().score(), 0);
  EXPECT_EQ(bleu({}, {1}), 0);
}

}  // namespace
}  // namespace weft::bleu_test
