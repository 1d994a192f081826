// All orders of three transactions at once, of which there are many.
#include <gtest/gtest.h>

#include "tests/concurrent/stm_transactions.h"

namespace weft::concurrent::stm_orders_slow_test {
namespace {

using namespace stm_transactions;
using weft::test::expect_right;

TEST(StmOrdersSlow, ThreeCommits) {
  for (const ClockKind clock : {ClockKind::kGv4, ClockKind::kGv5})
    expect_right<Warm<OneAttemptEach>>(3, kAllOrders, small(clock), 3);
}

// Has a shortcut of its own past the validation of what was read.
TEST(StmOrdersSlow, ThreeCommitsByGv1) {
  expect_right<Warm<OneAttemptEach>>(3, kAllOrders, small(ClockKind::kGv1), 3);
}

// Two cells let threads disagree about the time.
TEST(StmOrdersSlow, TheRelaxedClockOfWhoReadsWhatTheOtherWrites) {
  const StmOptions options = small(ClockKind::kRelaxed);
  expect_right<Skew>(2, kAllOrders, options);
  const Exploration found = explore(2, [=] {
    return std::make_unique<Skew>(options,
                                  make_clock<M>(ClockKind::kRelaxed, 2, 8));
  });
  EXPECT_EQ(found.failure, "") << found.describe();
  EXPECT_TRUE(found.is_complete);
}

TEST(StmOrdersSlow, TwoWritersAndAWitness) {
  expect_right<Warm<Skew>>(3, kAllOrders, small(ClockKind::kGv4), 3);
}

TEST(StmOrdersSlow, FirstTransactionsWithKills) {
  expect_right<OneAttemptEach>(2, at_most_switches(3), with_kills(), 2);
}

TEST(StmOrdersSlow, ThreeCommitsWithKills) {
  expect_right<OneAttemptEach>(3, at_most_switches(2), with_kills(), 3);
}

}  // namespace
}  // namespace weft::concurrent::stm_orders_slow_test
