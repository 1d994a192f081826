#include "weft/concurrent/queue/rank_log.h"

#include <gtest/gtest.h>

namespace weft::concurrent::rank_log_test {
namespace {

TEST(RankLog, CountsSmallerKeysPresent) {
  RankLog log(10);
  for (const std::uint32_t key : {2U, 3U, 5U, 7U}) log.pushed(key);
  EXPECT_EQ(log.popped(5), 2U);
  EXPECT_EQ(log.popped(7), 2U);
  EXPECT_EQ(log.popped(2), 0U);
  EXPECT_EQ(log.popped(3), 0U);
  EXPECT_EQ(log.ranks(), (std::vector<std::uint64_t>{2, 0, 2}));
}

// 2 is first while 5 and 7 go; then 3 is, and nothing passes it.
TEST(RankLog, CountsWhoPassesTheFirst) {
  RankLog log(10);
  for (const std::uint32_t key : {2U, 3U, 5U, 7U}) log.pushed(key);
  for (const std::uint32_t key : {5U, 7U, 2U, 3U}) log.popped(key);
  EXPECT_EQ(log.overtakings(), (std::vector<std::uint64_t>{1, 0, 1}));
}

TEST(RankLog, ANewFirstStartsUnpassed) {
  RankLog log(10);
  for (const std::uint32_t key : {4U, 6U}) log.pushed(key);
  log.popped(6);
  log.pushed(1);
  log.popped(1);
  log.popped(4);
  EXPECT_EQ(log.overtakings(), (std::vector<std::uint64_t>{2}));
}

TEST(RankLog, Summaries) {
  EXPECT_DOUBLE_EQ(RankLog::mean({2, 0, 2}), 1.0);
  EXPECT_DOUBLE_EQ(RankLog::tail({2, 0, 2}, 1), 0.5);
  EXPECT_DOUBLE_EQ(RankLog::tail({}, 0), 0.0);
}

}  // namespace
}  // namespace weft::concurrent::rank_log_test
