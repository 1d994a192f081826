// What holds with every clock, both ways of locking, and in hardware.
#include "weft/concurrent/stm/stm.h"

#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "weft/concurrent/stm/session.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::stm_test {
namespace {

struct Choice {
  const char* name;
  ClockKind clock;
  Locking locking;
  int hardware_attempts = 0;
};

void PrintTo(const Choice& choice, std::ostream* out) { *out << choice.name; }

class StmTest : public testing::TestWithParam<Choice> {
 protected:
  // 8 cells and a delta of 80 for the relaxed clock: few threads, small data.
  StmOptions options() const {
    return {.clock = GetParam().clock,
            .locking = GetParam().locking,
            .clock_cells = 8,
            .hardware_attempts = GetParam().hardware_attempts};
  }
};

INSTANTIATE_TEST_SUITE_P(
    , StmTest,
    testing::Values(
        Choice{"Gv1", ClockKind::kGv1, Locking::kCommitTime},
        Choice{"Gv4", ClockKind::kGv4, Locking::kCommitTime},
        Choice{"Gv5", ClockKind::kGv5, Locking::kCommitTime},
        Choice{"Gv6", ClockKind::kGv6, Locking::kCommitTime},
        Choice{"Relaxed", ClockKind::kRelaxed, Locking::kCommitTime},
        Choice{"Gv1Encounter", ClockKind::kGv1, Locking::kEncounterTime},
        Choice{"Gv4Encounter", ClockKind::kGv4, Locking::kEncounterTime},
        Choice{"Gv5Encounter", ClockKind::kGv5, Locking::kEncounterTime},
        Choice{"Gv6Encounter", ClockKind::kGv6, Locking::kEncounterTime},
        Choice{"RelaxedEncounter", ClockKind::kRelaxed,
               Locking::kEncounterTime},
        Choice{"Gv1Hardware", ClockKind::kGv1, Locking::kCommitTime, 8},
        Choice{"Gv4Hardware", ClockKind::kGv4, Locking::kCommitTime, 8},
        Choice{"Gv6Hardware", ClockKind::kGv6, Locking::kCommitTime, 8},
        Choice{"RelaxedHardware", ClockKind::kRelaxed, Locking::kCommitTime, 8},
        Choice{"Gv4EncounterHardware", ClockKind::kGv4, Locking::kEncounterTime,
               8}),
    [](const auto& info) { return info.param.name; });

TEST_P(StmTest, ReadsWhatItHasWritten) {
  Stm<> stm(options());
  Session<> session(stm);
  Cell<int> a(1);
  LockedCell<int> b(2);
  session.run([&](Transaction<>& t) {
    EXPECT_EQ(t.read(a), 1);
    t.write(a, 10);
    t.write(b, 20);
    EXPECT_EQ(t.read(a), 10);
    t.write(a, 11);
    EXPECT_EQ(t.read(a), 11);
    EXPECT_EQ(t.read(b), 20);
  });
  EXPECT_EQ(a.unshared(), 11);
  EXPECT_EQ(b.unshared(), 20);
}

TEST_P(StmTest, ReturnsWhatTheBodyReturns) {
  Stm<> stm(options());
  Session<> session(stm);
  Cell<double> cell(0.25);
  EXPECT_EQ(session.read([&](Transaction<>& t) { return t.read(cell); }), 0.25);
  session.run([](Transaction<>&) {});
  session.read([](Transaction<>&) {});
  EXPECT_EQ(session.counts().commits, 3U);
  EXPECT_EQ(session.counts().aborts(), 0U);
}

TEST_P(StmTest, AllWordsMayShareOneLock) {
  StmOptions one_lock = options();
  one_lock.locks_log2 = 0;
  Stm<> stm(one_lock);
  Session<> session(stm);
  Cell<int> a(1);
  Cell<int> b(2);
  Cell<int> c(3);
  session.run([&](Transaction<>& t) {
    t.write(a, 10);
    EXPECT_EQ(t.read(b), 2);  // under a lock that is its own
    t.write(b, t.read(b) + 1);
    EXPECT_EQ(t.read(c), 3);
    t.write(c, t.read(a) + t.read(b));
  });
  EXPECT_EQ(a.unshared(), 10);
  EXPECT_EQ(b.unshared(), 3);
  EXPECT_EQ(c.unshared(), 13);
}

TEST_P(StmTest, ManyWritesAreFoundAgain) {
  Stm<> stm(options());
  Session<> session(stm);
  std::vector<Cell<std::uint64_t>> cells(500);
  session.run([&](Transaction<>& t) {
    for (std::uint64_t i = 0; i < 500; ++i) t.write(cells[i], i);
    for (std::uint64_t i = 0; i < 500; ++i) {
      EXPECT_EQ(t.read(cells[i]), i);
      t.write(cells[i], 2 * i);
    }
  });
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_EQ(cells[i].unshared(), 2 * i);
}

TEST_P(StmTest, ARunWithinARunIsPartOfIt) {
  Stm<> stm(options());
  Session<> session(stm);
  Cell<int> cell(1);
  EXPECT_THROW(session.run([&](Transaction<>& t) {
    t.write(cell, 2);
    const int inner = session.run([&](Transaction<>& u) {
      u.write(cell, u.read(cell) + 1);
      return u.read(cell);
    });
    EXPECT_EQ(inner, 3);
    throw std::runtime_error("give all up");
  }),
               std::runtime_error);
  EXPECT_EQ(cell.unshared(), 1);
}

TEST_P(StmTest, AnExceptionRestoresAll) {
  Stm<> stm(options());
  Session<> session(stm);
  Session<> other(stm, 1);
  LockedCell<int> cell(1);
  EXPECT_THROW(session.run([&](Transaction<>& t) {
    t.write(cell, 2);
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(cell.unshared(), 1);
  EXPECT_EQ(cell.lock().load(), 0U);
  other.run([&](Transaction<>& t) { t.write(cell, t.read(cell) + 1); });
  session.run([&](Transaction<>& t) { t.write(cell, t.read(cell) + 1); });
  EXPECT_EQ(cell.unshared(), 3);
}

TEST_P(StmTest, ReadingRefusesToWrite) {
  Stm<> stm(options());
  Session<> session(stm);
  Cell<int> cell(1);
  EXPECT_THROW(session.read([&](Transaction<>& t) { t.write(cell, 2); }),
               Error);
  EXPECT_EQ(cell.unshared(), 1);
}

TEST_P(StmTest, ReadingChangesNoLock) {
  Stm<> stm(options());
  Session<> session(stm);
  LockedCell<int> cell(1);
  const std::uint64_t before = cell.lock().load();
  FastRandom random(1, 1);
  const std::uint64_t clock = stm.clock().now(random);
  for (int i = 0; i < 10; ++i) {
    session.read([&](Transaction<>& t) { return t.read(cell); });
    session.run([&](Transaction<>& t) { return t.read(cell); });
  }
  EXPECT_EQ(cell.lock().load(), before);
  EXPECT_EQ(stm.clock().now(random), clock);
}

// The first reads A, the second commits A and B, the first reads B.
TEST_P(StmTest, ALateReadAborts) {
  Stm<> stm(options());
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  LockedCell<int> a(0);
  LockedCell<int> b(0);
  int attempts = 0;
  bool saw_new_b = false;
  first.run([&](Transaction<>& t) {
    const int seen_a = t.read(a);
    if (attempts++ == 0)
      second.run([&](Transaction<>& u) {
        u.write(a, 1);
        u.write(b, 1);
      });
    const int seen_b = t.read(b);
    EXPECT_EQ(seen_a, seen_b);  // also while it runs
    saw_new_b = seen_b == 1;
  });
  EXPECT_GE(attempts, 2);
  EXPECT_GE(first.counts().aborts(AbortCause::kTooNew), 1U);
  EXPECT_TRUE(saw_new_b);
}

// The same, but what was read is overwritten after the last read.
TEST_P(StmTest, AStaleReadAbortsAtTheCommit) {
  Stm<> stm(options());
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  LockedCell<int> a(0);
  LockedCell<int> b(0);
  int attempts = 0;
  first.run([&](Transaction<>& t) {
    const int seen = t.read(a);
    if (attempts++ == 0)
      second.run([&](Transaction<>& u) { u.write(a, u.read(a) + 1); });
    t.write(b, seen + 10);
  });
  EXPECT_GE(attempts, 2);
  EXPECT_EQ(first.counts().aborts(AbortCause::kChanged), 1U);
  EXPECT_EQ(b.unshared(), 11);
}

TEST_P(StmTest, ABlindWriteNeedNotAbort) {
  Stm<> stm(options());
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  LockedCell<int> a(0);
  first.run([&](Transaction<>& t) {
    second.run([&](Transaction<>& u) { u.write(a, 1); });
    t.write(a, 2);
  });
  EXPECT_EQ(first.counts().aborts(), 0U);
  EXPECT_EQ(a.unshared(), 2);
}

TEST_P(StmTest, WhatTheBodySwallowsStillAborts) {
  Stm<> stm(options());
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  LockedCell<int> a(0);
  LockedCell<int> b(0);
  int attempts = 0;
  first.run([&](Transaction<>& t) {
    if (attempts++ == 0) second.run([&](Transaction<>& u) { u.write(a, 1); });
    try {
      t.write(b, t.read(a) + 1);
    } catch (...) {  // as a body that knows nothing of aborts does
    }
  });
  EXPECT_GE(attempts, 2);
  EXPECT_EQ(b.unshared(), 2);
}

// A doomed transaction's exception may come from what never was.
TEST_P(StmTest, AnExceptionFromAStaleReadIsNotPassedOn) {
  Stm<> stm(options());
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  LockedCell<int> a(0);
  int attempts = 0;
  first.run([&](Transaction<>& t) {
    if (t.read(a) == 0) {
      second.run([&](Transaction<>& u) { u.write(a, 1); });
      ++attempts;
      throw std::runtime_error("a is 0");
    }
  });
  EXPECT_EQ(attempts, 1);
}

TEST_P(StmTest, TransfersKeepTheTotalAndAuditsSeeIt) {
  constexpr int kAccounts = 16;
  constexpr long kTotal = 100L * kAccounts;
  Stm<> stm(options());
  std::vector<Cell<long>> accounts(kAccounts);
  for (auto& account : accounts) account.set_unshared(100);
  run_threads(4, [&](int thread) {
    Session<> session(stm, std::uint64_t(thread));
    FastRandom random(5, std::uint64_t(thread));
    for (int i = 0; i < 2000; ++i) {
      const auto from = random.below(kAccounts);
      const auto to = random.below(kAccounts);
      const long amount = long(random.below(10));
      session.run([&](Transaction<>& t) {
        t.write(accounts[from], t.read(accounts[from]) - amount);
        t.write(accounts[to], t.read(accounts[to]) + amount);
      });
      if (i % 8 != 0) continue;
      const auto audit = [&](Transaction<>& t) {
        long sum = 0;
        for (const auto& account : accounts) sum += t.read(account);
        EXPECT_EQ(sum, kTotal);  // while it runs: opacity
        return sum;
      };
      EXPECT_EQ(i % 16 == 0 ? session.read(audit) : session.run(audit), kTotal);
    }
  });
  long sum = 0;
  for (const auto& account : accounts) sum += account.unshared();
  EXPECT_EQ(sum, kTotal);
}

// A loop that would not end, and an access that would be out of bounds, if a
// transaction ever saw x without y.
TEST_P(StmTest, APairIsNeverSeenTorn) {
  Stm<> stm(options());
  LockedCell<std::uint64_t> x(0);
  LockedCell<std::uint64_t> y(0);
  std::atomic<std::uint64_t> torn = 0;
  run_threads(3, [&](int thread) {
    Session<> session(stm, std::uint64_t(thread));
    for (int i = 0; i < 3000; ++i) {
      if (thread == 0)
        session.run([&](Transaction<>& t) {
          t.write(x, t.read(x) + 1);
          t.write(y, t.read(y) + 1);
        });
      else
        session.read([&](Transaction<>& t) {
          const std::uint64_t seen_x = t.read(x);
          if (seen_x != t.read(y)) ++torn;
        });
    }
  });
  EXPECT_EQ(torn.load(), 0U);
  EXPECT_EQ(x.unshared(), 3000U);
}

TEST_P(StmTest, OppositeOrdersMakeProgress) {
  Stm<> stm(options());
  LockedCell<int> a(0);
  LockedCell<int> b(0);
  run_threads(2, [&](int thread) {
    Session<> session(stm, std::uint64_t(thread));
    auto& first = thread == 0 ? a : b;
    auto& second = thread == 0 ? b : a;
    for (int i = 0; i < 3000; ++i)
      session.run([&](Transaction<>& t) {
        t.write(first, t.read(first) + 1);
        t.write(second, t.read(second) + 1);
      });
  });
  EXPECT_EQ(a.unshared(), 6000);
  EXPECT_EQ(b.unshared(), 6000);
}

// Each attempt is disturbed until the last one, which runs alone.
TEST_P(StmTest, AStormOfRetriesEndsAlone) {
  StmOptions few = options();
  few.retries_before_serial = 7;
  Stm<> stm(few);
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  LockedCell<int> a(0);
  LockedCell<int> b(0);
  int disturbed = 0;
  first.run([&](Transaction<>& t) {
    const int seen = t.read(a);
    if (first.counts().aborts() < 7)
      second.run([&](Transaction<>& u) { u.write(a, ++disturbed); });
    t.write(b, seen);
  });
  EXPECT_EQ(first.counts().aborts(), 7U);
  EXPECT_EQ(first.counts().serial, 1U);
  EXPECT_EQ(b.unshared(), disturbed);
  EXPECT_GE(disturbed, 1);
  first.run([&](Transaction<>& t) { t.write(b, t.read(a) + 1); });
  EXPECT_EQ(b.unshared(), disturbed + 1);
}

TEST_P(StmTest, SomeAloneAndSomeNotCountExactly) {
  StmOptions few = options();
  few.retries_before_serial = 1;
  Stm<> stm(few);
  LockedCell<int> a(0);
  LockedCell<int> b(0);
  run_threads(4, [&](int thread) {
    Session<> session(stm, std::uint64_t(thread));
    for (int i = 0; i < 1000; ++i)
      session.run([&](Transaction<>& t) {
        const int seen = t.read(a);
        if (i % 16 == 0) std::this_thread::yield();
        t.write(a, seen + 1);
        t.write(b, t.read(b) + 1);
      });
  });
  EXPECT_EQ(a.unshared(), 4000);
  EXPECT_EQ(b.unshared(), 4000);
}

// An exception of the body must give back the right to run alone.
TEST_P(StmTest, AnExceptionWhileAlone) {
  StmOptions none = options();
  none.hardware_attempts = 0;
  none.retries_before_serial = 0;
  Stm<> stm(none);
  Session<> first(stm, 0);
  Session<> second(stm, 1);
  Cell<int> a(0);
  EXPECT_THROW(first.run([&](Transaction<>& t) {
    t.write(a, 1);
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  second.run([&](Transaction<>& t) { t.write(a, t.read(a) + 2); });
  EXPECT_EQ(a.unshared(), 2);
  EXPECT_EQ(second.counts().serial, 1U);
}

}  // namespace
}  // namespace weft::concurrent::stm_test
