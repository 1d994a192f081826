// All orders in which the steps of two or three small transactions can happen.
#include <array>
#include <gtest/gtest.h>
#include <memory>

#include "tests/concurrent/stm_transactions.h"

namespace weft::concurrent::stm_orders_test {
namespace {

using namespace stm_transactions;
using weft::test::expect_right;

// The rule of GV1, wrong with GV4: another writer may share the version.
class RashGv4 final : public ExactClock<M> {
 public:
  Tick next(FastRandom& /*random*/, std::uint64_t began,
            std::uint64_t /*newest_held*/) override {
    const std::uint64_t version = add_or_adopt();
    return {version, version == began + 1};
  }
};

// Draws no version of its own: breaks the invariant of clock.h.
class StoppedClock final : public ExactClock<M> {
 public:
  Tick next(FastRandom& /*random*/, std::uint64_t /*began*/,
            std::uint64_t /*newest_held*/) override {
    return {load()};
  }
};

constexpr std::array kExactClocks = {ClockKind::kGv1, ClockKind::kGv4,
                                     ClockKind::kGv5};

TEST(StmOrders, AWriterAndAReader) {
  for (const ClockKind clock : kExactClocks)
    expect_right<WriterAndReader>(2, kAllOrders, small(clock));
}

TEST(StmOrders, TwoWriters) {
  for (const ClockKind clock : {ClockKind::kGv1, ClockKind::kGv4})
    expect_right<Writers>(2, kAllOrders, small(clock), 2);
}

TEST(StmOrders, WhoReadsWhatTheOtherWrites) {
  for (const ClockKind clock : kExactClocks)
    expect_right<Skew>(2, kAllOrders, small(clock));
}

TEST(StmOrders, TwoCommitsWithKills) {
  expect_right<Warm<OneAttemptEach>>(2, kAllOrders, with_kills(), 2);
}

TEST(StmOrders, TwoWritersWithKills) {
  expect_right<Writers>(2, at_most_switches(2), with_kills(), 2);
}

TEST(StmOrders, WhoReadsWhatTheOtherWritesWithKills) {
  expect_right<Warm<Skew>>(2, kAllOrders, with_kills(), 2);
}

// Its versions lie ahead of what others read, so that who meets one aborts, and
// then runs alone; with several cells threads disagree about the time as well.
TEST(StmOrders, TheRelaxedClockBesideAReader) {
  const StmOptions options = small(ClockKind::kRelaxed);
  expect_right<WriterAndReader>(2, kAllOrders, options);
  const Exploration found = explore(2, [=] {
    return std::make_unique<WriterAndReader>(
        options, make_clock<M>(ClockKind::kRelaxed, 2, 8));
  });
  EXPECT_EQ(found.failure, "") << found.describe();
  EXPECT_TRUE(found.is_complete);
}

TEST(StmOrders, TheRelaxedClockOfWhoReadsWhatTheOtherWrites) {
  expect_right<Skew>(2, at_most_switches(2), small(ClockKind::kRelaxed));
}

template <class WrongClock>
Exploration explore_skew() {
  return explore(2, [] {
    return std::make_unique<Skew>(small(ClockKind::kGv4),
                                  std::make_unique<WrongClock>());
  });
}

TEST(StmOrders, FindsTheShortcutThatGv4MustNotTake) {
  EXPECT_NE(explore_skew<RashGv4>().failure.find("neither saw the other"),
            std::string::npos);
}

TEST(StmOrders, FindsAClockThatStandsStill) {
  const Exploration found = explore(2, [] {
    return std::make_unique<WriterAndReader>(small(ClockKind::kGv4),
                                             std::make_unique<StoppedClock>());
  });
  EXPECT_NE(found.failure.find("saw the pair torn"), std::string::npos);
}

}  // namespace
}  // namespace weft::concurrent::stm_orders_test
