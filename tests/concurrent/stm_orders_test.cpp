// All orders in which the steps of two or three small transactions can happen.
#include "tests/support/stm_orders.h"

#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "weft/concurrent/coherence/simulated_memory.h"

namespace weft::concurrent::stm_orders_test {
namespace {

using M = SimulatedMemory;
using T = Transaction<M>;
using test::expect_right;

class KillAtOnce final : public ConflictPolicy {
 public:
  Decision decide(const ConflictInfo& /*conflict*/,
                  FastRandom& /*random*/) const override {
    return {0, AfterDelay::kKillOwner};
  }
};

StmOptions small(ClockKind clock, Locking locking = Locking::kCommitTime) {
  StmOptions options = test::small_stm(clock);
  options.locking = locking;
  if (locking == Locking::kEncounterTime)
    options.policy = std::make_shared<KillAtOnce>();
  return options;
}

struct TwoWords : test::TwoWords<M> {
  using test::TwoWords<M>::TwoWords;

  void add_to_both(int thread) {
    session(thread).run([&](T& t) {
      const int seen = t.read(x);
      require(t.read(y) == seen, "a writer saw the pair torn");
      t.write(x, seen + 1);
      t.write(y, seen + 1);
    });
  }
  void look_at_both(int thread) {
    session(thread).read([&](T& t) {
      const int seen = t.read(x);
      require(t.read(y) == seen, "a reader saw the pair torn");
    });
  }
};

struct Writers : TwoWords {
  Writers(const StmOptions& options, int threads)
      : TwoWords(options, threads), expected(threads) {}
  void run(int thread) override { add_to_both(thread); }
  void check() override {
    TwoWords::check();
    require(x.unshared() == expected, "an update is lost");
  }
  int expected;
};

struct WriterAndReader : TwoWords {
  explicit WriterAndReader(const StmOptions& options) : TwoWords(options, 2) {}
  WriterAndReader(const StmOptions& options, std::unique_ptr<Clock<M>> clock)
      : TwoWords(options, 2, std::move(clock)) {}
  void run(int thread) override {
    thread == 0 ? add_to_both(0) : look_at_both(1);
  }
};

const ExplorationOptions kAllOrders = {};

// Where there are too many: all with so many switches away from a thread that
// could go on.
ExplorationOptions at_most_switches(int count) {
  return {.preemptions = count};
}

// Each reads one word and writes the other: one must see what the other wrote.
struct Skew : TwoWords {
  explicit Skew(const StmOptions& options, int threads = 2)
      : TwoWords(options, threads) {}
  Skew(const StmOptions& options, std::unique_ptr<Clock<M>> clock)
      : TwoWords(options, 2, std::move(clock)) {}
  void run(int thread) override {
    if (thread == 2) return look(2);
    auto& from = thread == 0 ? x : y;
    auto& to = thread == 0 ? y : x;
    session(thread).run([&](T& t) { t.write(to, t.read(from) + 1); });
  }
  // Once both are done they are 1 and 2; before that at most one is set.
  void look(int thread) {
    session(thread).read([&](T& t) {
      const int seen = t.read(x) + t.read(y);
      require(seen == 0 || seen == 1 || seen == 3, "a state that never was");
    });
  }
  void check() override {
    require(x.unshared() + y.unshared() == 3, "neither saw the other");
  }
};

// Who aborts gives up: what is left are the orders of the commits alone.
struct OneAttemptEach : TwoWords {
  OneAttemptEach(StmOptions options, int threads)
      : TwoWords(with_retries(options), threads) {}
  void run(int thread) override {
    bool is_first = true;
    try {
      session(thread).run([&](T& t) {
        if (!std::exchange(is_first, false)) throw GivesUp{};
        const int seen = t.read(x);
        require(t.read(y) == seen, "the pair is seen torn");
        t.write(x, seen + 1);
        t.write(y, seen + 1);
      });
      ++commits;
    } catch (const GivesUp&) {
    }
  }
  void check() override {
    TwoWords::check();
    require(x.unshared() == commits, "an update is lost");
  }

  struct GivesUp {};
  static StmOptions with_retries(StmOptions options) {
    options.retries_before_serial = 2;
    return options;
  }
  int commits = 0;
};

// Every session has run before. What only a first transaction does, which is to
// look for an owner that no thread can still see, is left out: it shares words
// with all threads, and makes many times as many orders of what follows.
template <class P>
struct Warm : P {
  Warm(const StmOptions& options, int threads) : P(options, threads) {
    for (int i = 0; i < threads; ++i)
      this->session(i).run([&](T& t) { t.write(this->x, 0); });
  }
};

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

StmOptions with_kills() {
  return small(ClockKind::kGv4, Locking::kEncounterTime);
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

TEST(StmOrders, FirstTransactionsWithKills) {
  expect_right<OneAttemptEach>(2, at_most_switches(3), with_kills(), 2);
}

TEST(StmOrders, ThreeCommits) {
  for (const ClockKind clock : {ClockKind::kGv4, ClockKind::kGv5})
    expect_right<Warm<OneAttemptEach>>(3, kAllOrders, small(clock), 3);
}

// Has a shortcut of its own past the validation of what was read.
TEST(StmOrders, ThreeCommitsByGv1) {
  expect_right<Warm<OneAttemptEach>>(3, kAllOrders, small(ClockKind::kGv1), 3);
}

TEST(StmOrders, ThreeCommitsWithKills) {
  expect_right<OneAttemptEach>(3, at_most_switches(2), with_kills(), 3);
}

TEST(StmOrders, TwoWritersAndAWitness) {
  expect_right<Warm<Skew>>(3, kAllOrders, small(ClockKind::kGv4), 3);
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
