// Transactions in hardware, beside others in software. Where the processor has
// none, the same programs must run in software alone.
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#ifdef __AVX__
#include <immintrin.h>
#endif

#include "weft/concurrent/stm/containers.h"
#include "weft/concurrent/stm/session.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::stm_hardware_test {
namespace {

using T = Transaction<>;

// Templates, as a memory need not have the type Hardware.
template <Memory M = RealMemory>
bool has_hardware() {
  if constexpr (HasHardware<M>)
    return M::Hardware::is_available();
  else
    return false;
}

// Is called from inside of a body: ends an attempt in hardware, and does
// nothing in software.
template <HardwareOutcome kWhy, Memory M = RealMemory>
void fail_in_hardware() {
  if constexpr (HasHardware<M>) {
    using Hardware = typename M::Hardware;
    if (Hardware::is_available() && Hardware::is_inside())
      Hardware::template abort<kWhy>();
  }
}

constexpr std::array kClocks = {ClockKind::kGv1, ClockKind::kGv4,
                                ClockKind::kGv5, ClockKind::kGv6,
                                ClockKind::kRelaxed};

TEST(StmHardware, IsUsedWhereItIs) {
  for (const ClockKind clock : kClocks) {
    Stm<> stm({.clock = clock});
    EXPECT_EQ(stm.uses_hardware(), has_hardware());
    Session<> session(stm);
    Cell<int> cell(0);
    for (int i = 0; i < 1000; ++i)
      session.run([&](T& t) { t.write(cell, t.read(cell) + 1); });
    EXPECT_EQ(cell.unshared(), 1000);
    EXPECT_EQ(session.counts().commits, 1000U);
    if (has_hardware())
      EXPECT_GT(session.counts().hardware, 500U);  // interrupts end some
    else
      EXPECT_EQ(session.counts().hardware, 0U);
  }
}

class NoPolicy final : public ConflictPolicy {
 public:
  Decision decide(const ConflictInfo& /*conflict*/,
                  FastRandom& /*random*/) const override {
    return {};
  }
};

// This clock has no word that tells hardware the time.
class LocalClock final : public Clock<> {
 public:
  std::uint64_t now(FastRandom& /*random*/) override { return time_; }
  Tick next(FastRandom& /*random*/, std::uint64_t /*began*/,
            std::uint64_t /*newest_held*/) override {
    return {++time_};
  }
  void aborted(FastRandom& /*random*/, std::uint64_t /*newest_met*/,
               int /*times*/) override {}
  bool is_exact() const override { return true; }

 private:
  std::uint64_t time_ = 0;
};

TEST(StmHardware, IsLeftAloneWhereOneAsksForThat) {
  EXPECT_FALSE(Stm<>({.hardware_attempts = 0}).uses_hardware());
  EXPECT_FALSE(Stm<>({.policy = std::make_shared<NoPolicy>()}).uses_hardware());
  EXPECT_FALSE(Stm<>({}, std::make_unique<LocalClock>()).uses_hardware());
  Stm<> stm({.hardware_attempts = 0});
  Session<> session(stm);
  session.run([](T&) {});
  EXPECT_EQ(session.counts().commits, 1U);
  EXPECT_EQ(session.counts().hardware, 0U);
  EXPECT_EQ(session.counts().hardware_aborts, 0U);
}

TEST(StmHardware, WhatItCannotDoIsDoneInSoftware) {
  Stm<> stm;
  Session<> session(stm);
  Cell<int> cell(0);
  for (int i = 0; i < 1000; ++i)
    session.run([&](T& t) {
      t.write(cell, t.read(cell) + 1);
      std::this_thread::yield();  // a system call
    });
  EXPECT_EQ(cell.unshared(), 1000);
  EXPECT_EQ(session.counts().commits, 1000U);
  EXPECT_EQ(session.counts().hardware, 0U);
  // After two failures it is tried less and less.
  EXPECT_EQ(session.counts().hardware_aborts > 0, has_hardware());
  EXPECT_LT(session.counts().hardware_aborts, 20U);
}

#ifdef __AVX__
[[gnu::noinline]] void add_one(T& t, Cell<int>& cell) {
  t.write(cell, t.read(cell) + 1);
}

// The instruction that compilers put between vectors of 256 bits and the next
// call ends a transaction: it must come before that begins.
TEST(StmHardware, BearsVectorsBeforeIt) {
  Stm<> stm;
  Session<> session(stm);
  Cell<int> cell(0);
  for (int i = 0; i < 1000; ++i) {
    __m256i whole = _mm256_set1_epi32(i);
    asm volatile("" : "+x"(whole));  // its upper half, too, is in use
    session.run([&](T& t) { add_one(t, cell); });
  }
  EXPECT_EQ(cell.unshared(), 1000);
  EXPECT_EQ(session.counts().hardware > 500, has_hardware());
}
#endif

TEST(StmHardware, IsTriedSoOftenAndNoMore) {
  Stm<> stm({.hardware_attempts = 5});
  Session<> session(stm);
  Cell<int> cell(0);
  session.run([&](T& t) {
    t.write(cell, 1);
    fail_in_hardware<HardwareOutcome::kInterfered>();
  });
  EXPECT_EQ(cell.unshared(), 1);
  // An interrupt may cost some.
  EXPECT_LE(session.counts().hardware_aborts, 5U);
  EXPECT_EQ(session.counts().hardware_aborts > 0, has_hardware());
  EXPECT_EQ(session.counts().commits, 1U);
  EXPECT_EQ(session.counts().hardware, 0U);
}

TEST(StmHardware, ManyWordsAreDoneInSoftware) {
  Stm<> stm;
  Session<> session(stm);
  std::vector<Cell<std::uint64_t>> cells(200'000);  // 1.6 MB
  session.run([&](T& t) {
    for (std::uint64_t i = 0; i < cells.size(); ++i) t.write(cells[i], i);
  });
  for (std::uint64_t i = 0; i < cells.size(); ++i)
    ASSERT_EQ(cells[i].unshared(), i);
  EXPECT_EQ(session.counts().hardware, 0U);
}

TEST(StmHardware, ExceptionsReachTheCallerOnce) {
  Stm<> stm;
  Session<> session(stm);
  Cell<int> cell(1);
  int thrown = 0;  // an attempt in hardware that throws does not count
  EXPECT_THROW(session.run([&](T& t) {
    t.write(cell, 2);
    ++thrown;
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(thrown, 1);
  EXPECT_EQ(cell.unshared(), 1);
  EXPECT_THROW(session.read([&](T& t) { t.write(cell, 2); }), Error);
  session.run([&](T& t) { t.write(cell, t.read(cell) + 1); });
  EXPECT_EQ(cell.unshared(), 2);
}

// Two sessions of one thread, one inside of the other: each is its own.
TEST(StmHardware, AnotherSessionInsideIsNoPartOfIt) {
  Stm<> stm;
  Session<> outer(stm, 0);
  Session<> inner(stm, 1);
  Cell<int> a(0);
  Cell<int> b(0);
  EXPECT_THROW(outer.run([&](T& t) {
    t.write(a, 1);
    inner.run([&](T& u) { u.write(b, 1); });
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(a.unshared(), 0);
  EXPECT_EQ(b.unshared(), 1);
}

// Versions are only kept while somebody is in software; and somebody is found
// to have left.
TEST(StmHardware, KnowsWhetherAnybodyIsInSoftware) {
  Stm<> stm;
  Session<> session(stm);
  LockedCell<int> cell(0);
  const auto add = [&](T& t) { t.write(cell, t.read(cell) + 1); };
  EXPECT_FALSE(stm.software().is_possible());
  session.run([&](T& t) {
    fail_in_hardware<HardwareOutcome::kCannot>();
    add(t);
  });
  EXPECT_EQ(stm.software().is_possible(), has_hardware());
  for (int i = 0; i < 100; ++i) session.run(add);
  EXPECT_FALSE(stm.software().is_possible());
  EXPECT_EQ(cell.unshared(), 101);
  EXPECT_FALSE(LockWord::is_held(cell.lock().load()));
}

// A reader in software whose words hardware writes in between.
TEST(StmHardware, SoftwareSeesWhatHardwareHasChanged) {
  for (const ClockKind clock : kClocks) {
    Stm<> stm({.clock = clock, .clock_cells = 8});
    Session<> reader(stm, 0);
    Session<> writer(stm, 1);
    LockedCell<int> a(0);
    LockedCell<int> b(0);
    int attempts = 0;
    const int sum = reader.read([&](T& t) {
      fail_in_hardware<HardwareOutcome::kCannot>();
      const int seen_a = t.read(a);
      if (attempts++ == 0)
        writer.run([&](T& u) {
          u.write(a, 1);
          u.write(b, 1);
        });
      const int seen_b = t.read(b);
      EXPECT_EQ(seen_a, seen_b);
      return seen_a + seen_b;
    });
    EXPECT_EQ(sum, 2);
    EXPECT_GE(reader.counts().aborts(AbortCause::kTooNew), 1U);
  }
}

// Some threads in hardware, some in software, some that are thrown out of
// hardware again and again: sums stay, and nobody sees a pair torn.
TEST(StmHardware, MixedThreadsKeepSumsAndPairs) {
  constexpr int kPairs = 8;
  constexpr int kEach = 3000;
  for (const ClockKind clock : kClocks)
    for (const int retries : {1, 100}) {
      Stm<> stm({.clock = clock,
                 .clock_cells = 16,
                 .retries_before_serial = retries});
      std::vector<LockedCell<long>> ups(kPairs);  // pairs: one lock beside it,
      std::vector<Cell<long>> downs(kPairs);      // one of the table's
      std::atomic<int> torn = 0;
      run_threads(4, [&](int thread) {
        Session<> session(stm, std::uint64_t(thread));
        FastRandom random(7, std::uint64_t(thread));
        for (int i = 0; i < kEach; ++i) {
          const std::size_t from = random.below(kPairs);
          const std::size_t to = random.below(kPairs);
          const auto leave = [&] {
            if (thread == 1) fail_in_hardware<HardwareOutcome::kCannot>();
            if (thread == 2 && i % 3 == 0)
              fail_in_hardware<HardwareOutcome::kInterfered>();
          };
          if (i % 4 == 0) {
            // No assertion inside: its message would only end an attempt.
            const long off = session.read([&](T& t) {
              leave();
              long sum = 0;
              for (std::size_t p = 0; p < kPairs; ++p) {
                if (t.read(ups[p]) != -t.read(downs[p])) ++torn;
                sum += t.read(ups[p]);
              }
              return sum;
            });
            if (off != 0) ++torn;
            continue;
          }
          session.run([&](T& t) {
            t.write(ups[from], t.read(ups[from]) - i);
            t.write(downs[from], t.read(downs[from]) + i);
            leave();
            t.write(ups[to], t.read(ups[to]) + i);
            t.write(downs[to], t.read(downs[to]) - i);
          });
        }
      });
      EXPECT_EQ(torn.load(), 0);
      long sum = 0;
      for (std::size_t p = 0; p < kPairs; ++p) {
        EXPECT_EQ(ups[p].unshared(), -downs[p].unshared());
        EXPECT_FALSE(LockWord::is_held(ups[p].lock().load()));
        sum += ups[p].unshared();
      }
      EXPECT_EQ(sum, 0);
    }
}

// What hardware unlinks, readers in software may still look at.
TEST(StmHardware, MemoryOutlivesReadersInSoftware) {
  Stm<> stm;
  TransactionalQueue<int> queue;
  std::atomic<long> popped = 0;
  run_threads(3, [&](int thread) {
    Session<> session(stm, std::uint64_t(thread));
    for (int i = 0; i < 4000; ++i) {
      const int value = session.run([&](T& t) {
        if (thread == 2) fail_in_hardware<HardwareOutcome::kCannot>();
        if (thread == 0) {
          queue.push(t, i);
          return 0;
        }
        return queue.pop(t).value_or(0);
      });
      popped += value;
    }
  });
  Session<> session(stm, 9);
  while (const auto value = session.run([&](T& t) { return queue.pop(t); }))
    popped += *value;
  EXPECT_EQ(popped.load(), 4000L * 3999 / 2);
}

}  // namespace
}  // namespace weft::concurrent::stm_hardware_test
