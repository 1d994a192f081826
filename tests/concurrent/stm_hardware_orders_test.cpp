// All orders in which a commit in hardware, which is one step, can fall between
// the steps of transactions in software.
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "tests/support/stm_orders.h"

#include "weft/concurrent/coherence/simulated_hardware.h"

namespace weft::concurrent::stm_hardware_orders_test {
namespace {

using M = TransactionalMemory;
using T = Transaction<M>;
using test::expect_right;

struct TwoWords : test::TwoWords<M> {
  using test::TwoWords<M>::TwoWords;

  static void leave_hardware() {
    if (M::Hardware::is_inside())
      M::Hardware::abort<HardwareOutcome::kCannot>();
  }

  // An exception in hardware would only lead into software: what was seen is
  // kept, and looked at in the end.
  void add_to_both(int thread, bool in_software) {
    session(thread).run([&](T& t) {
      if (in_software) leave_hardware();
      const int seen = t.read(x);
      is_torn |= t.read(y) != seen;
      t.write(x, seen + 1);
      t.write(y, seen + 1);
    });
    ++added;
  }
  void look_at_both(int thread, bool in_software) {
    session(thread).read([&](T& t) {
      if (in_software) leave_hardware();
      const int seen = t.read(x);
      is_torn |= t.read(y) != seen;
    });
  }

  void check() override {
    require(!is_torn, "the pair was seen torn");
    test::TwoWords<M>::check();
    require(x.unshared() == added, "an update is lost");
  }

  bool is_torn = false;
  int added = 0;
};

// Thread 0 in hardware, as often as told: so that it also finds out that nobody
// is in software any more.
struct WriterAndReader : TwoWords {
  WriterAndReader(const StmOptions& options, int writes)
      : TwoWords(options, 2), count(writes) {}
  WriterAndReader(const StmOptions& options, std::unique_ptr<Clock<M>> clock)
      : TwoWords(options, 2, std::move(clock)) {}
  void run(int thread) override {
    if (thread == 1) return look_at_both(1, true);
    for (int i = 0; i < count; ++i) add_to_both(0, false);
  }
  int count = 1;
};

struct ReaderAndWriter : TwoWords {
  explicit ReaderAndWriter(const StmOptions& options) : TwoWords(options, 2) {}
  void run(int thread) override {
    if (thread == 1) return add_to_both(1, true);
    look_at_both(0, false);
  }
};

struct Writers : TwoWords {
  Writers(const StmOptions& options, int writes, int threads = 2)
      : TwoWords(options, threads), count(writes) {}
  void run(int thread) override {
    if (thread == 1) return add_to_both(1, true);
    for (int i = 0; i < count; ++i) add_to_both(thread, false);
  }
  int count;
};

// Each reads one word and writes the other: one must see what the other wrote.
struct Skew : TwoWords {
  explicit Skew(const StmOptions& options) : TwoWords(options, 2) {}
  void run(int thread) override {
    auto& from = thread == 0 ? x : y;
    auto& to = thread == 0 ? y : x;
    session(thread).run([&](T& t) {
      if (thread == 1) leave_hardware();
      t.write(to, t.read(from) + 1);
    });
  }
  void check() override {
    require(x.unshared() + y.unshared() == 3, "neither saw the other");
  }
};

// Looks once, sees a word in hardware, and the other one later.
struct OneInSoftwareTwoInHardware : TwoWords {
  explicit OneInSoftwareTwoInHardware(const StmOptions& options)
      : TwoWords(options, 3) {}
  void run(int thread) override {
    if (thread == 0) return add_to_both(0, false);
    if (thread == 1) return look_at_both(1, true);
    look_at_both(2, false);
  }
};

TEST(SimulatedHardware, WhatAnAttemptInsideHasCommittedGoesWithTheOuterOne) {
  Word<M> word{0};
  const HardwareOutcome outcome = M::Hardware::attempt([&] {
    EXPECT_EQ(M::Hardware::attempt([&] { word.store(2); }),
              HardwareOutcome::kCommitted);
    EXPECT_EQ(word.load(), 2U);
    M::Hardware::abort<HardwareOutcome::kLocked>();
  });
  EXPECT_EQ(outcome, HardwareOutcome::kLocked);
  EXPECT_EQ(word.load(), 0U);
}

constexpr std::array kClocks = {ClockKind::kGv1, ClockKind::kGv4,
                                ClockKind::kGv5, ClockKind::kRelaxed};

TEST(StmHardwareOrders, AWriterAndAReaderInSoftware) {
  for (const ClockKind clock : kClocks)
    for (const int writes : {1, 2})
      expect_right<WriterAndReader>(2, {}, test::small_stm(clock), writes);
}

TEST(StmHardwareOrders, AReaderAndAWriterInSoftware) {
  for (const ClockKind clock : kClocks)
    expect_right<ReaderAndWriter>(2, {}, test::small_stm(clock));
}

TEST(StmHardwareOrders, TwoWriters) {
  for (const ClockKind clock : kClocks)
    expect_right<Writers>(2, {}, test::small_stm(clock), 1);
}

TEST(StmHardwareOrders, WhoReadsWhatTheOtherWrites) {
  for (const ClockKind clock : kClocks)
    expect_right<Skew>(2, {}, test::small_stm(clock));
}

TEST(StmHardwareOrders, NobodyAndSomebodyInSoftwareInTurns) {
  expect_right<Writers>(2, {.preemptions = 3}, test::small_stm(ClockKind::kGv4),
                        3);
}

TEST(StmHardwareOrders, TwoInHardwareTakeBackAtOnce) {
  expect_right<Writers>(3, {.preemptions = 2}, test::small_stm(ClockKind::kGv4),
                        2, 3);
}

TEST(StmHardwareOrders, OneInSoftwareTwoInHardware) {
  expect_right<OneInSoftwareTwoInHardware>(3, {},
                                           test::small_stm(ClockKind::kGv4));
}

// Thread 0 comes and goes; the others look whether they can take back that
// somebody is there, and believe what they find.
struct Presence : Program {
  explicit Presence(int threads) : epochs(3) {
    for (int i = 0; i < threads; ++i)
      members.push_back(std::make_unique<EpochMember<M>>(epochs));
    software.announce();
  }
  void run(int thread) override {
    auto& member = *members[static_cast<std::size_t>(thread)];
    if (thread == 0) {
      member.enter();
      software.announce();
      is_there.store(1);
      is_there.store(0);
      member.leave();
    } else {
      software.take_back(epochs, member.number());
      const AtomicStep step;
      require(software.is_possible() || is_there.load() == 0,
              "nobody is said to be there");
    }
  }

  Epochs<M> epochs;
  std::vector<std::unique_ptr<EpochMember<M>>> members;
  SoftwarePresence<M> software;
  Word<M> is_there;
};

TEST(StmHardwareOrders, NobodyIsOnlySaidWhereNobodyIs) {
  for (const int threads : {2, 3}) expect_right<Presence>(threads, {}, threads);
}

// Draws for hardware what software may have drawn before.
class StaleClock final : public Clock<M> {
 public:
  std::uint64_t now(FastRandom& /*random*/) override { return time_.load(); }
  Tick next(FastRandom& /*random*/, std::uint64_t /*began*/,
            std::uint64_t newest_held) override {
    return {std::max(time_.fetch_add(1), newest_held) + 1};
  }
  void aborted(FastRandom& /*random*/, std::uint64_t /*newest_met*/,
               int /*times*/) override {}
  bool is_exact() const override { return true; }
  VersionSource<M> version_source(FastRandom& /*random*/) const override {
    return {.word = &time_, .ahead = 0};
  }

 private:
  Word<M> time_{5};
};

TEST(StmHardwareOrders, FindsAVersionThatIsNotAboveWhatReadersDrew) {
  const Exploration found = explore(2, [] {
    return std::make_unique<WriterAndReader>(test::small_stm(ClockKind::kGv4),
                                             std::make_unique<StaleClock>());
  });
  EXPECT_NE(found.failure.find("seen torn"), std::string::npos)
      << found.describe();
}

}  // namespace
}  // namespace weft::concurrent::stm_hardware_orders_test
