#include "weft/concurrent/coherence/explorer.h"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <vector>

#include "tests/support/errors.h"

#include "weft/concurrent/backoff.h"
#include "weft/concurrent/coherence/simulated_memory.h"
#include "weft/concurrent/random.h"

namespace weft::concurrent::explorer_test {
namespace {

using M = SimulatedMemory;
template <class T>
using Atomic = M::Atomic<T>;

template <class P, class... Args>
Exploration explore_all(int threads, Args... args) {
  return explore(threads, [=] { return std::make_unique<P>(args...); });
}

template <class P, class... Args>
void expect_right(int threads, Args... args) {
  const Exploration found = explore_all<P>(threads, args...);
  EXPECT_EQ(found.failure, "") << found.describe();
  EXPECT_TRUE(found.is_complete);
}

template <class P, class... Args>
Exploration expect_broken(int threads, const std::string& how, Args... args) {
  Exploration found = explore_all<P>(threads, args...);
  EXPECT_NE(found.failure.find(how), std::string::npos) << found.describe();
  EXPECT_FALSE(found.is_complete);
  return found;
}

struct Increments : Program {
  explicit Increments(bool atomic, int threads)
      : is_atomic(atomic), expected(threads) {}
  void run(int) override {
    if (is_atomic)
      value.fetch_add(1);
    else
      value.store(value.load() + 1);
  }
  void check() override { require(value.load() == expected, "one is lost"); }
  bool is_atomic;
  int expected;
  Atomic<int> value{0};
};

TEST(Explorer, FindsTheLostUpdateAndSaysHow) {
  const Exploration found =
      expect_broken<Increments>(2, "one is lost", false, 2);
  // load, load, then both stores.
  ASSERT_EQ(found.schedule.size(), 4U);
  EXPECT_EQ(found.schedule[0].access, "load a");
  EXPECT_EQ(found.schedule[1].access, "load a");
  EXPECT_NE(found.schedule[0].thread, found.schedule[1].thread);
  EXPECT_NE(found.describe().find("store a"), std::string::npos);
}

TEST(Explorer, ProvesAtomicIncrements) {
  expect_right<Increments>(2, true, 2);
  expect_right<Increments>(4, true, 4);
}

// n writers of one word can come in n! orders; of different words in one.
struct Writers : Program {
  explicit Writers(bool same) : same_word(same) {}
  void run(int thread) override {
    words[same_word ? 0 : static_cast<std::size_t>(thread)].store(
        static_cast<std::uint64_t>(thread));
  }
  bool same_word;
  std::array<Atomic<std::uint64_t>, 8> words;
};

TEST(Explorer, RunsOneOfTheOrdersThatCommute) {
  EXPECT_EQ(explore_all<Writers>(5, true).executions, 120U);
  EXPECT_EQ(explore_all<Writers>(8, false).executions, 1U);
}

struct Critical {
  // Not atomic: what a lock must guard.
  void use() {
    const int before = value.load();
    require(!busy.load(), "two are inside");
    busy.store(true);
    value.store(before + 1);
    busy.store(false);
  }
  Atomic<int> value{0};
  Atomic<bool> busy{false};
};

struct Peterson : Program {
  explicit Peterson(bool right) : is_right(right) {}
  void run(int self) override {
    const auto me = static_cast<std::size_t>(self);
    if (is_right) {
      wants[me].store(true);
      turn.store(1 - self);
    } else {  // the order that lets both in
      turn.store(1 - self);
      wants[me].store(true);
    }
    while (wants[1 - me].load() && turn.load() == 1 - self) M::pause();
    section.use();
    wants[me].store(false);
  }
  void check() override { require(section.value.load() == 2, "one is lost"); }
  bool is_right;
  std::array<Atomic<bool>, 2> wants{};
  Atomic<int> turn{0};
  Critical section;
};

TEST(Explorer, TellsPetersonsLockFromABrokenOne) {
  expect_right<Peterson>(2, true);
  expect_broken<Peterson>(2, "two are inside", false);
}

struct SpinLock : Program {
  explicit SpinLock(bool atomic, int count)
      : is_atomic(atomic), threads(count) {}
  void run(int) override {
    Backoff<M> backoff;
    if (is_atomic) {
      while (lock.exchange(true, std::memory_order_acquire)) backoff();
    } else {
      while (lock.load()) backoff();
      lock.store(true);
    }
    section.use();
    lock.store(false, std::memory_order_release);
  }
  void check() override {
    require(section.value.load() == threads, "one is lost");
  }
  bool is_atomic;
  int threads;
  Atomic<bool> lock{false};
  Critical section;
};

TEST(Explorer, TellsASpinLockFromABrokenOne) {
  expect_right<SpinLock>(2, true, 2);
  expect_right<SpinLock>(3, true, 3);
  expect_broken<SpinLock>(2, "two are inside", false, 2);
}

struct SeqLock : Program {
  explicit SeqLock(bool right) : checks_version(right) {}
  void run(int thread) override {
    if (thread == 0) {
      for (int i = 1; i <= 2; ++i) {
        version.fetch_add(1);
        a.store(i);
        b.store(i);
        version.fetch_add(1);
      }
      return;
    }
    int x = 0;
    int y = 0;
    for (;;) {
      const int before = version.load();
      x = a.load();
      y = b.load();
      if (!checks_version) break;
      if (before % 2 == 0 && version.load() == before) break;
      M::pause();
    }
    require(x == y, "torn");
  }
  bool checks_version;
  Atomic<int> version{0}, a{0}, b{0};
};

TEST(Explorer, FindsTornReads) {
  expect_right<SeqLock>(2, true);
  expect_broken<SeqLock>(2, "torn", false);
}

struct TwoLocks : Program {
  explicit TwoLocks(bool same) : same_order(same) {}
  void run(int thread) override {
    const auto first = static_cast<std::size_t>(same_order ? 0 : thread);
    take(first);
    take(1 - first);
    locks[1 - first].store(false);
    locks[first].store(false);
  }
  void take(std::size_t i) {
    while (locks[i].exchange(true)) M::yield();
  }
  bool same_order;
  std::array<Atomic<bool>, 2> locks{};
};

TEST(Explorer, FindsDeadlocks) {
  expect_right<TwoLocks>(2, true);
  expect_broken<TwoLocks>(2, "wait for each other forever: threads 0, 1",
                          false);
}

struct Endless : Program {
  void run(int) override {
    for (;;) word.fetch_add(1);
  }
  Atomic<int> word{0};
};

TEST(Explorer, FindsThreadsThatNeverEnd) {
  expect_broken<Endless>(1, "no end after");
}

// A wait that gives up must be seen to give up where nobody helps.
struct GivesUp : Program {
  void run(int) override {
    for (int i = 0; i < 50; ++i) {
      if (never.load()) return;
      M::pause();
    }
  }
  Atomic<bool> never{false};
};

TEST(Explorer, LetsBoundedWaitsEnd) { expect_right<GivesUp>(2); }

// The flag may be set at any time around the waiter's test of it.
struct Handshake : Program {
  void run(int thread) override {
    if (thread == 0) {
      data.store(42);
      other.store(1);
      flag.store(true);
      other.store(2);
      return;
    }
    while (!flag.load()) {
      M::pause();
      M::pause();
    }
    require(data.load() == 42, "too early");
  }
  Atomic<int> data{0}, other{0};
  Atomic<bool> flag{false};
};

TEST(Explorer, WaitsMissNoWakeUp) {
  expect_right<Handshake>(2);
  // A waiter looks at the flag before or after it is set, and no further.
  EXPECT_EQ(explore_all<Handshake>(2).executions, 2U);
}

// touch() makes plain memory visible.
struct PlainMemory : Program {
  void run(int thread) override {
    M::touch(&plain, sizeof plain,
             thread == 0 ? Access::kWrite : Access::kRead);
    if (thread == 0)
      plain = 1;
    else
      require(plain == 0, "seen");
  }
  int plain = 0;
};

TEST(Explorer, OrdersPlainAccessesThatAreTouched) {
  expect_broken<PlainMemory>(2, "seen");
}

TEST(Explorer, BoundsPreemptions) {
  const auto make = [] { return std::make_unique<Increments>(false, 2); };
  const Exploration none = explore(2, make, {.preemptions = 0});
  EXPECT_TRUE(none.is_complete);
  EXPECT_EQ(none.failure, "");
  EXPECT_EQ(none.executions, 2U);
  EXPECT_EQ(explore(2, make, {.preemptions = 1}).failure, "one is lost");
}

TEST(Explorer, StopsAtItsLimitAndSaysSo) {
  const Exploration some =
      explore(5, [] { return std::make_unique<Writers>(true); },
              {.most_executions = 10});
  EXPECT_EQ(some.executions, 10U);
  EXPECT_FALSE(some.is_complete);
  EXPECT_EQ(some.describe(), "nothing found in 10 executions; more are left");
}

struct Throws : Program {
  void run(int thread) override {
    word.fetch_add(1);
    if (thread == 1) throw 42;
  }
  Atomic<int> word{0};
};

TEST(Explorer, ReportsExceptionsOfAnyKind) {
  expect_broken<Throws>(2, "unknown type");
}

struct Changes : Program {
  explicit Changes(int* runs) : run_number((*runs)++) {}
  void run(int) override {
    word.fetch_add(1);
    if (run_number == 0) word.fetch_add(1);
  }
  int run_number;
  Atomic<int> word{0};
};

TEST(Explorer, RefusesProgramsThatChange) {
  int runs = 0;
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"same order"}, [&] {
    explore(2, [&] { return std::make_unique<Changes>(&runs); });
  });
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"9 threads"},
                           [] { explore_all<Throws>(9); });
}

// Random programs: what can be reached by orders that the reduction keeps must
// be what can be reached at all.
struct Instruction {
  int kind;  // load, store, add, compare-exchange, add under a lock
  std::size_t word;
  int value;
};
using Script = std::vector<std::vector<Instruction>>;
using Outcome = std::vector<int>;

struct Scripted : Program {
  Scripted(const Script* lines, std::set<Outcome>* reached)
      : script(lines), outcomes(reached), seen(lines->size()) {}

  void run(int thread) override {
    const auto self = static_cast<std::size_t>(thread);
    for (const Instruction& line : (*script)[self]) {
      Atomic<int>& word = words[line.word];
      int value = line.value;
      switch (line.kind) {
        case 0:
          value = word.load();
          break;
        case 1:
          word.store(line.value);
          break;
        case 2:
          value = word.fetch_add(line.value);
          break;
        case 3:
          value = 0;
          word.compare_exchange_strong(value, line.value);
          break;
        default:
          while (lock.exchange(true)) M::pause();
          value = word.load();
          word.store(value + line.value);
          lock.store(false);
      }
      seen[self].push_back(value);
    }
  }

  void check() override {
    Outcome outcome;
    for (const Atomic<int>& word : words) outcome.push_back(word.load());
    for (const auto& values : seen)
      outcome.insert(outcome.end(), values.begin(), values.end());
    outcomes->insert(outcome);
  }

  const Script* script;
  std::set<Outcome>* outcomes;
  std::vector<std::vector<int>> seen;
  std::array<Atomic<int>, 3> words{};
  Atomic<bool> lock{false};
};

Script random_script(FastRandom& random) {
  const bool locks = random.below(4) == 0;
  Script script(locks ? 2 : 2 + random.below(2));
  for (auto& lines : script)
    for (std::uint32_t i = 0; i < 2 + random.below(locks ? 1 : 2); ++i)
      lines.push_back({.kind = static_cast<int>(random.below(locks ? 5 : 4)),
                       .word = random.below(3),
                       .value = 1 + static_cast<int>(random.below(2))});
  return script;
}

TEST(Explorer, ReductionReachesAllOutcomes) {
  FastRandom random(1, 0);
  std::uint64_t reduced = 0;
  std::uint64_t all = 0;
  for (int i = 0; i < 150; ++i) {
    const Script script = random_script(random);
    std::set<Outcome> by_reduction;
    std::set<Outcome> by_all;
    const auto make = [&](std::set<Outcome>& outcomes) {
      return [&] { return std::make_unique<Scripted>(&script, &outcomes); };
    };
    reduced +=
        explore(static_cast<int>(script.size()), make(by_reduction)).executions;
    all += explore(static_cast<int>(script.size()), make(by_all),
                   {.preemptions = 1000})
               .executions;
    EXPECT_EQ(by_reduction, by_all);
  }
  EXPECT_LT(10 * reduced, all);
}

}  // namespace
}  // namespace weft::concurrent::explorer_test
