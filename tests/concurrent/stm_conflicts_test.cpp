// What happens when transactions meet, step by step: the steps of the second
// are put inside of the first.
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "tests/concurrent/hooked_memory.h"

#include "weft/concurrent/stm/session.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::stm_conflicts_test {
namespace {

// Decides always the same, and remembers what it was asked.
class FixedPolicy final : public ConflictPolicy {
 public:
  explicit FixedPolicy(Decision decision) : decision_(decision) {}
  Decision decide(const ConflictInfo& conflict,
                  FastRandom& /*random*/) const override {
    if (keeps_) asked.push_back(conflict);
    return decision_;
  }
  void keep() { keeps_ = true; }

  mutable std::vector<ConflictInfo> asked;  // by one thread

 private:
  Decision decision_;
  bool keeps_ = false;
};

std::shared_ptr<FixedPolicy> policy(AfterDelay after, double delay_ns = 0) {
  return std::make_shared<FixedPolicy>(Decision{delay_ns, after});
}

StmOptions encounter(std::shared_ptr<FixedPolicy> policy = nullptr) {
  return {.locking = Locking::kEncounterTime,
          .hardware_attempts = 0,
          .policy = std::move(policy)};
}

// Two writers of disjoint words draw at once: the slower adopts the faster
// one's version. Who began before must not read either.
TEST(StmConflicts, Gv4WritersThatTieShareAVersion) {
  using M = HookedMemory;
  Stm<M> stm({.clock = ClockKind::kGv4, .hardware_attempts = 0});
  Session<M> first(stm, 0);
  Session<M> second(stm, 1);
  Session<M> reader(stm, 2);
  LockedCell<int, M> a(0);
  LockedCell<int, M> b(0);
  int attempts = 0;
  reader.run([&](Transaction<M>& r) {
    if (attempts++ == 0)
      first.run([&](Transaction<M>& t) {
        t.write(a, 1);
        // A commit's first exchange takes the lock of a, and its second moves
        // the clock.
        M::before_exchange = [&, count = 0](const void* /*address*/) mutable {
          if (++count == 2)
            second.run([&](Transaction<M>& u) { u.write(b, 1); });
        };
      });
    M::before_exchange = nullptr;
    EXPECT_EQ(r.read(a), r.read(b));
  });
  EXPECT_EQ(a.lock().load(), b.lock().load());
  EXPECT_NE(a.lock().load(), 0U);
  EXPECT_EQ(reader.counts().aborts(AbortCause::kTooNew), 1U);
}

// A reader between its two looks at the lock; meanwhile a writer takes the
// lock, writes and gives up. What it wrote was never anywhere but in its own
// list.
TEST(StmConflicts, AnAbortedWritersValueIsNeverRead) {
  using M = HookedMemory;
  Stm<M> stm(encounter());
  Session<M> writer(stm, 0);
  Session<M> reader(stm, 1);
  LockedCell<int, M> cell(1);
  int interrupted = 0;
  const auto interrupt = [&](const void* address) {
    if (address != &cell.word()) return;
    ++interrupted;
    EXPECT_THROW(writer.run([&](Transaction<M>& t) {
      t.write(cell, 2);
      EXPECT_TRUE(LockWord::is_held(cell.lock().load()));
      EXPECT_EQ(cell.unshared(), 1);
      throw std::runtime_error("give up");
    }),
                 std::runtime_error);
  };
  const int seen = reader.read([&](Transaction<M>& t) {
    M::before_load = interrupt;
    const int value = t.read(cell);
    M::before_load = nullptr;
    return value;
  });
  M::before_load = nullptr;
  EXPECT_GE(interrupted, 1);
  EXPECT_EQ(seen, 1);
}

TEST(StmConflicts, AKilledOwnerBlocksNobodyAndWritesNothing) {
  const auto kill = policy(AfterDelay::kKillOwner);
  Stm<> stm(encounter(kill));
  Session<> victim(stm, 0);
  Session<> killer(stm, 1);
  LockedCell<int> a(0);
  LockedCell<int> b(0);
  int attempts = 0;
  victim.run([&](Transaction<>& t) {
    t.write(a, 100);
    if (attempts++ == 0) {  // from here on as if it had no core
      killer.run([&](Transaction<>& u) { u.write(a, u.read(a) + 1); });
      EXPECT_EQ(a.unshared(), 1);
    }
    t.write(b, 100);
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(victim.counts().aborts(AbortCause::kKilled), 1U);
  EXPECT_EQ(killer.counts().aborts(), 0U);
  EXPECT_EQ(a.unshared(), 100);
  EXPECT_EQ(b.unshared(), 100);
}

// Killed after its last access: it finds out when it wants to commit.
TEST(StmConflicts, AKilledOwnerDoesNotCommit) {
  Stm<> stm(encounter(policy(AfterDelay::kKillOwner)));
  Session<> victim(stm, 0);
  Session<> killer(stm, 1);
  LockedCell<int> a(5);
  int attempts = 0;
  victim.run([&](Transaction<>& t) {
    t.write(a, 6);
    if (attempts++ == 0) {
      // A reader kills too, and reads what was there before.
      EXPECT_EQ(killer.read([&](Transaction<>& u) { return u.read(a); }), 5);
      EXPECT_FALSE(LockWord::is_held(a.lock().load()));
    }
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(a.unshared(), 6);
}

TEST(StmConflicts, ThePolicyIsToldWhatHappens) {
  const auto kill = policy(AfterDelay::kKillOwner, 1000);
  kill->keep();
  Stm<> stm(encounter(kill));
  Session<> victim(stm, 0);
  Session<> killer(stm, 1);
  LockedCell<int> a(0);
  killer.run([](Transaction<>&) {});  // so that a mean is known
  int attempts = 0;
  victim.run([&](Transaction<>& t) {
    t.write(a, 1);
    if (attempts++ < 2) killer.run([&](Transaction<>& u) { u.write(a, 2); });
  });
  ASSERT_EQ(kill->asked.size(), 2U);
  for (int i = 0; i < 2; ++i) {
    const ConflictInfo& asked = kill->asked[std::size_t(i)];
    EXPECT_TRUE(asked.can_kill_owner);
    EXPECT_EQ(asked.chain, 2);
    EXPECT_EQ(asked.aborts, i);
    EXPECT_GT(asked.owner_cost_ns, 0);
    EXPECT_GE(asked.self_cost_ns, 0);
    EXPECT_GE(asked.mean_remaining_ns, 0);
  }
}

TEST(StmConflicts, WhoAbortsItselfLeavesTheOwnerAlone) {
  Stm<> stm(encounter(policy(AfterDelay::kAbortSelf, 2000)));
  Session<> owner(stm, 0);
  Session<> other(stm, 1);
  LockedCell<int> a(0);
  owner.run([&](Transaction<>& t) {
    t.write(a, 1);
    int attempts = 0;
    other.run([&](Transaction<>& u) {
      if (attempts++ == 0) u.write(a, 2);  // and then does without
    });
    EXPECT_EQ(attempts, 2);
  });
  EXPECT_EQ(owner.counts().aborts(), 0U);
  EXPECT_EQ(other.counts().aborts(AbortCause::kLocked), 1U);
  EXPECT_EQ(a.unshared(), 1);
}

// Who runs alone need not wait for owners without a core, whatever the policy.
TEST(StmConflicts, RunningAloneNeedsNobodysLeave) {
  StmOptions options = encounter();
  options.retries_before_serial = 2;
  options.lock_spins = 1;
  Stm<> stm(options);
  Session<> owner(stm, 0);
  Session<> other(stm, 1);
  LockedCell<int> a(0);
  int attempts = 0;
  owner.run([&](Transaction<>& t) {
    t.write(a, t.read(a) + 10);
    if (attempts++ == 0)
      other.run([&](Transaction<>& u) { u.write(a, u.read(a) + 1); });
  });
  EXPECT_EQ(other.counts().serial, 1U);
  EXPECT_EQ(owner.counts().aborts(), 1U);
  EXPECT_EQ(a.unshared(), 11);
}

TEST(StmConflicts, KillsUnderStressHaveOneWinner) {
  for (const double delay_ns : {0.0, 2000.0}) {
    Stm<> stm(encounter(policy(AfterDelay::kKillOwner, delay_ns)));
    std::array<LockedCell<int>, 3> cells;
    run_threads(4, [&](int thread) {
      Session<> session(stm, std::uint64_t(thread));
      FastRandom random(9, std::uint64_t(thread));
      for (int i = 0; i < 2000; ++i) {
        auto& a = cells[random.below(3)];
        auto& b = cells[random.below(3)];
        session.run([&](Transaction<>& t) {
          t.write(a, t.read(a) + 1);
          t.write(b, t.read(b) + 1);
        });
      }
    });
    int sum = 0;
    for (const auto& cell : cells) {
      sum += cell.unshared();
      EXPECT_FALSE(LockWord::is_held(cell.lock().load()));
    }
    EXPECT_EQ(sum, 4 * 2000 * 2);
  }
}

// Each kill costs an owner's number until nobody can have seen it; here
// somebody never leaves. Then transactions run alone.
TEST(StmConflicts, WithoutOwnersLeftTransactionsRunAlone) {
  Stm<> stm(encounter(policy(AfterDelay::kKillOwner)));
  Session<> never_leaves(stm, 0);
  Session<> victim(stm, 1);
  Session<> killer(stm, 2);
  LockedCell<std::uint64_t> a(0);
  std::uint64_t kills = 0;
  never_leaves.run([&](Transaction<>&) {
    while (victim.counts().serial == 0) {
      int attempts = 0;
      victim.run([&](Transaction<>& t) {
        t.write(a, t.read(a) + 1);
        if (attempts++ == 0)
          killer.run([&](Transaction<>& u) { u.write(a, u.read(a) + 1); });
      });
      ++kills;
    }
  });
  EXPECT_GT(kills, LockWord::kMostOwners - 10);
  EXPECT_EQ(a.unshared(), 2 * kills);
  victim.run([&](Transaction<>& t) { t.write(a, 0); });
  EXPECT_EQ(victim.counts().serial, 1U);  // there are owners again
}

// Sessions that end give their numbers back.
TEST(StmConflicts, SessionsMayComeAndGo) {
  Stm<> stm({.hardware_attempts = 0});
  LockedCell<int> a(0);
  for (int i = 0; i < 10000; ++i) {
    Session<> session(stm);
    session.run([&](Transaction<>& t) { t.write(a, t.read(a) + 1); });
    EXPECT_EQ(session.counts().serial, 0U);
  }
  EXPECT_EQ(a.unshared(), 10000);
  EXPECT_LT(stm.owners().count(), 10U);
}

TEST(StmConflicts, TooManySessionsAreRefused) {
  Stm<> stm({.most_threads = 2});
  Session<> first(stm);
  std::optional<Session<>> second(std::in_place, stm);
  EXPECT_THROW(Session<>{stm}, Error);
  second.reset();
  EXPECT_NO_THROW(Session<>{stm});
}

}  // namespace
}  // namespace weft::concurrent::stm_conflicts_test
