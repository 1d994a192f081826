// The clocks one by one, and what a wrong clock does.
#include <gtest/gtest.h>

#include "weft/concurrent/stm/session.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::stm_clocks_test {
namespace {

std::unique_ptr<Clock<>> exact(ClockKind kind) {
  return make_clock<RealMemory>(kind, 1, 0);
}

TEST(StmClocks, Gv1KnowsWhenItIsAlone) {
  FastRandom random(1, 0);
  const auto clock = exact(ClockKind::kGv1);
  const std::uint64_t began = clock->now(random);
  EXPECT_TRUE(clock->next(random, began, 0).is_alone);
  EXPECT_FALSE(clock->next(random, began, 0).is_alone);
  EXPECT_EQ(clock->now(random), began + 2);
}

TEST(StmClocks, Gv4MovesByOne) {
  FastRandom random(1, 0);
  const auto clock = exact(ClockKind::kGv4);
  EXPECT_EQ(clock->next(random, 0, 0).version, 1U);
  const Tick second = clock->next(random, 0, 0);
  EXPECT_EQ(second.version, 2U);
  EXPECT_FALSE(second.is_alone);  // another may share its version
}

TEST(StmClocks, Gv5MovesOnlyForThoseWhoMetSomethingNewer) {
  FastRandom random(1, 0);
  const auto clock = exact(ClockKind::kGv5);
  EXPECT_EQ(clock->next(random, 0, 0).version, 1U);
  EXPECT_EQ(clock->next(random, 0, 0).version, 1U);
  EXPECT_EQ(clock->next(random, 0, 1).version, 2U);  // of one lock they grow
  EXPECT_EQ(clock->now(random), 0U);
  clock->aborted(random, 0, 1);
  EXPECT_EQ(clock->now(random), 0U);
  clock->aborted(random, 2, 1);
  EXPECT_EQ(clock->now(random), 2U);
  clock->aborted(random, 1, 1);
  EXPECT_EQ(clock->now(random), 2U);
}

TEST(StmClocks, Gv6MovesSometimes) {
  FastRandom random(1, 0);
  const auto clock = exact(ClockKind::kGv6);
  for (int i = 0; i < 3200; ++i) clock->next(random, 0, 0);
  EXPECT_GT(clock->now(random), 50U);
  EXPECT_LT(clock->now(random), 150U);
  EXPECT_EQ(clock->next(random, 0, 1000).version, 1001U);
}

TEST(StmClocks, TheRelaxedOneWritesInTheFuture) {
  FastRandom random(1, 0);
  const auto clock = make_clock<RealMemory>(ClockKind::kRelaxed, 4, 40);
  for (int i = 0; i < 1000; ++i) {
    const Tick tick = clock->next(random, 0, 0);
    EXPECT_GT(tick.version, clock->now(random));
  }
  EXPECT_EQ(clock->next(random, 0, 100000).version, 100040U);
  EXPECT_FALSE(clock->is_exact());
}

// The invariant that opacity rests on, for the clocks that promise it.
TEST(StmClocks, AWritersVersionIsAboveWhatReadersDrewBefore) {
  for (const ClockKind kind :
       {ClockKind::kGv1, ClockKind::kGv4, ClockKind::kGv5, ClockKind::kGv6}) {
    const auto clock = exact(kind);
    std::atomic<std::uint64_t> drawn = 0;  // the newest that a reader drew
    std::atomic<int> broken = 0;
    run_threads(3, [&](int thread) {
      FastRandom random(1, std::uint64_t(thread));
      for (int i = 0; i < 20000; ++i) {
        if (thread == 0) {
          const std::uint64_t now = clock->now(random);
          if (now > drawn.load()) drawn.store(now);
        } else {
          const std::uint64_t before = drawn.load();
          const Tick tick = clock->next(random, before, 0);
          if (tick.version <= before) ++broken;
          if (i % 8 == 0) clock->aborted(random, tick.version, 1);
        }
      }
    });
    EXPECT_EQ(broken.load(), 0) << int(kind);
  }
}

TEST(StmClocks, OneThreadMayRewriteOneWordForEver) {
  Stm<> stm({.clock = ClockKind::kRelaxed,
             .clock_cells = 16,
             .retries_before_serial = 1 << 30,
             .hardware_attempts = 0});
  Session<> session(stm);
  Cell<int> cell(0);
  for (int i = 0; i < 300; ++i)
    session.run([&](Transaction<>& t) { t.write(cell, t.read(cell) + 1); });
  EXPECT_EQ(cell.unshared(), 300);
  EXPECT_GT(session.counts().aborts(AbortCause::kTooNew), 300U);
  EXPECT_EQ(session.counts().serial, 0U);
}

// A clock whose readers are far ahead of its writers: `skew` more than it could
// be with the counter's error.
class SkewedClock final : public Clock<> {
 public:
  SkewedClock(std::uint64_t skew, std::uint64_t delta)
      : skew_(skew), delta_(delta) {}
  std::uint64_t now(FastRandom& /*random*/) override { return count_ + skew_; }
  Tick next(FastRandom& /*random*/, std::uint64_t /*began*/,
            std::uint64_t newest_held) override {
    return {std::max(++count_ + delta_, newest_held + 1)};
  }
  void aborted(FastRandom& /*random*/, std::uint64_t /*newest_met*/,
               int /*times*/) override {
    ++count_;
  }
  bool is_exact() const override { return false; }

 private:
  std::uint64_t skew_;
  std::uint64_t delta_;
  std::uint64_t count_ = 0;
};

struct Seen {
  int a = 0;
  int b = 0;
  bool was_torn_inside = false;
};

Seen read_across_a_commit(Validation validation, std::uint64_t delta) {
  Stm<> stm({.validation = validation, .retries_before_serial = 1 << 30},
            std::make_unique<SkewedClock>(50, delta));
  Session<> reader(stm, 0);
  Session<> writer(stm, 1);
  LockedCell<int> a(0);
  LockedCell<int> b(0);
  bool is_first = true;
  bool was_torn_inside = false;
  Seen seen = reader.read([&](Transaction<>& t) {
    const int seen_a = t.read(a);
    if (std::exchange(is_first, false))
      writer.run([&](Transaction<>& u) {
        u.write(a, 1);
        u.write(b, 1);
      });
    const int seen_b = t.read(b);
    was_torn_inside |= seen_a != seen_b;
    return Seen{seen_a, seen_b};
  });
  seen.was_torn_inside = was_torn_inside;
  return seen;
}

TEST(StmClocks, SkewWithoutDeltaTearsWhatIsOnlyProbable) {
  const Seen seen = read_across_a_commit(Validation::kProbabilistic, 0);
  EXPECT_EQ(seen.a, 0);
  EXPECT_EQ(seen.b, 1);
}

TEST(StmClocks, SafeValidationCatchesAnySkew) {
  const Seen seen = read_across_a_commit(Validation::kSafe, 0);
  EXPECT_EQ(seen.a, 1);
  EXPECT_EQ(seen.b, 1);
}

TEST(StmClocks, DeltaAboveTheSkewIsEnough) {
  const Seen seen = read_across_a_commit(Validation::kProbabilistic, 101);
  EXPECT_EQ(seen.a, seen.b);
  EXPECT_FALSE(seen.was_torn_inside);
}

// Writers too: the lost update of a read that was stale.
int increments_across_a_commit(Validation validation) {
  Stm<> stm({.validation = validation}, std::make_unique<SkewedClock>(50, 0));
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  LockedCell<int> a(0);
  bool is_first = true;
  first.run([&](Transaction<>& t) {
    const int seen = t.read(a);
    if (std::exchange(is_first, false))
      second.run([&](Transaction<>& u) { u.write(a, u.read(a) + 1); });
    t.write(a, seen + 1);
  });
  return a.unshared();
}

TEST(StmClocks, SkewLosesUpdatesUnlessValidationIsSafe) {
  EXPECT_EQ(increments_across_a_commit(Validation::kProbabilistic), 1);
  EXPECT_EQ(increments_across_a_commit(Validation::kSafe), 2);
}

class HugeClock final : public Clock<> {
 public:
  std::uint64_t now(FastRandom& /*random*/) override { return 0; }
  Tick next(FastRandom& /*random*/, std::uint64_t /*began*/,
            std::uint64_t /*newest_held*/) override {
    return {LockWord::kMostVersion + 1};
  }
  void aborted(FastRandom& /*random*/, std::uint64_t /*newest_met*/,
               int /*times*/) override {}
  bool is_exact() const override { return true; }
};

TEST(StmClocks, VersionsThatDoNotFitAreRefused) {
  for (const Locking locking :
       {Locking::kCommitTime, Locking::kEncounterTime}) {
    Stm<> stm({.locking = locking}, std::make_unique<HugeClock>());
    Session<> session(stm);
    LockedCell<int> a(0);
    EXPECT_THROW(session.run([&](Transaction<>& t) { t.write(a, 1); }), Error);
    EXPECT_EQ(a.unshared(), 0);
    EXPECT_EQ(a.lock().load(), 0U);
    EXPECT_EQ(session.read([&](Transaction<>& t) { return t.read(a); }), 0);
  }
}

TEST(StmClocks, BadOptionsAreRefused) {
  EXPECT_THROW(Stm<>({.locks_log2 = -1}), Error);
  EXPECT_THROW(Stm<>({.locks_log2 = 31}), Error);
  EXPECT_THROW(Stm<>({.clock = ClockKind::kRelaxed, .clock_cells = 0}), Error);
}

}  // namespace
}  // namespace weft::concurrent::stm_clocks_test
