#include "weft/concurrent/coherence/simulation.h"

#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/errors.h"

#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/coherence/simulated_memory.h"

namespace weft::concurrent::simulation_test {
namespace {

using M = SimulatedMemory;
template <class T>
using Atomic = M::Atomic<T>;
using Word = CacheAligned<Atomic<std::uint64_t>>;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kRelease = std::memory_order_release;

// Whole numbers, so that sums are exact.
constexpr CoherenceCosts kCosts{.load_ns = 1,
                                .atomic_ns = 5,
                                .transfer_ns = 100,
                                .ahead_ns = 0,
                                .handover_ns = 100,
                                .tenure_ns = 10,
                                .pause_ns = 7,
                                .clock_ns = 2,
                                .yield_ns = 50,
                                .switch_ns = 1000,
                                .quantum_ns = 10000,
                                .migrates = false};

double elapsed(int cores, const std::function<void(int)>& body) {
  Simulation simulation({.costs = kCosts, .cores = cores});
  simulation.run(cores, body);
  return simulation.elapsed_ns();
}

TEST(Simulation, ChargesATransferOnceAndThenHits) {
  Word word;
  // 1 + 100 for the first load, 1 for each of the others.
  EXPECT_EQ(elapsed(1,
                    [&](int) {
                      for (int i = 0; i < 10; ++i) word->load();
                    }),
            110);
  // Who alone reads a line may write it: 101, 5, 5.
  EXPECT_EQ(elapsed(1,
                    [&](int) {
                      word->load();
                      word->fetch_add(1);
                      word->fetch_add(1);
                    }),
            111);
  EXPECT_EQ(word->load(), 2U);
}

TEST(Simulation, ChargesTheClockPausesAndComputing) {
  EXPECT_EQ(elapsed(1,
                    [&](int) {
                      M::compute(1000);
                      M::pause();
                      EXPECT_EQ(M::nanoseconds(), 1009U);
                      M::yield();
                    }),
            1059);
}

TEST(Simulation, StoresAreBufferedUntilAnAtomicUpdate) {
  Word word;
  Word other;
  std::vector<std::uint64_t> times;
  elapsed(1, [&](int) {
    word->store(1, kRelease);
    times.push_back(M::nanoseconds());
    word->store(2, kRelaxed);
    times.push_back(M::nanoseconds());
    M::fence(std::memory_order_seq_cst);
    times.push_back(M::nanoseconds());
    other->store(1);
    times.push_back(M::nanoseconds());
  });
  // The first line arrives at 100; a seq_cst store waits for its own.
  EXPECT_EQ(times, (std::vector<std::uint64_t>{3, 6, 102, 209}));
}

TEST(Simulation, AtomicUpdatesOfOneLineTakeTurns) {
  Word word;
  // The transfers begin at 0, 115, 230 and 345, and the last core updates 100
  // later.
  EXPECT_EQ(elapsed(4, [&](int) { word->fetch_add(1); }), 450);
  EXPECT_EQ(word->load(), 4U);
}

TEST(Simulation, SharedLinesAreFetchedAtOnce) {
  Word word;
  EXPECT_EQ(elapsed(64, [&](int) { word->load(); }), 101);
}

TEST(Simulation, WritesInvalidateAllCopies) {
  Word word;
  Simulation simulation({.costs = kCosts, .cores = 8});
  simulation.run(8, [&](int) { word->load(); });
  EXPECT_EQ(simulation.statistics().transfers, 8U);
  // The second reader had the line from the first, and keeps it for 10.
  simulation.run(1, [&](int) { word->fetch_add(1); });
  EXPECT_EQ(simulation.elapsed_ns(), 115);
  simulation.run(8, [&](int) { word->load(); });
  // The first one reads what it wrote. The next fetches from it, and the line
  // is free for that 10 after its arrival; the other six fetch copies.
  EXPECT_EQ(simulation.statistics().transfers, 16U);
}

TEST(Simulation, PingPongCostsTwoTransfersATurn) {
  Word ball;
  constexpr int kTurns = 10;
  const double time = elapsed(2, [&](int side) {
    for (std::uint64_t i = 0; i < kTurns; ++i) {
      while (ball->load(std::memory_order_acquire) !=
             2 * i + static_cast<std::uint64_t>(side)) {
      }
      ball->store(2 * i + static_cast<std::uint64_t>(side) + 1, kRelease);
    }
  });
  // The writer fetches the line to write, the reader to read.
  EXPECT_NEAR(time / (2 * kTurns), 2 * (100 + 10), 20);
}

TEST(Simulation, WordsOnOneLineShareItsFate) {
  struct alignas(64) Pair {
    Atomic<std::uint64_t> a{0};
    Atomic<std::uint64_t> b{0};
  };
  Pair near;
  Word far[2];
  const auto work = [](Atomic<std::uint64_t>& word) {
    for (int i = 0; i < 100; ++i) {
      word.fetch_add(1);
      M::compute(20);
    }
  };
  const double apart = elapsed(2, [&](int i) { work(*far[i]); });
  const double together =
      elapsed(2, [&](int i) { work(i == 0 ? near.a : near.b); });
  EXPECT_EQ(apart, 100 + 100 * 25);
  EXPECT_GT(together, 4 * apart);
}

// A load a nanosecond asks for lines, which then travel side by side.
TEST(Simulation, RelaxedLoadsAndTouchesOverlap) {
  alignas(64) std::byte plain[256];
  EXPECT_EQ(elapsed(1,
                    [&](int) {
                      M::touch(plain, 256, Access::kRead);
                      M::compute(10);  // begins at 3 + 100
                      M::touch(plain + 60, 8, Access::kRead);
                    }),
            103 + 10 + 2);
  Word words[4];
  EXPECT_EQ(elapsed(1,
                    [&](int) {
                      for (const Word& word : words) word->load(kRelaxed);
                    }),
            103);
  Word chain[4];
  EXPECT_EQ(elapsed(1,
                    [&](int) {
                      for (const Word& word : chain)
                        word->load(std::memory_order_acquire);
                    }),
            4 * 101);
}

// Asked for 30 before the work ends, so it comes 70 after that; without work
// nothing is hidden, nor where the address depends on what came before.
TEST(Simulation, WorkHidesAPartOfATransfer) {
  CoherenceCosts costs = kCosts;
  costs.ahead_ns = 30;
  const auto takes = [&](const auto& access, std::uint64_t work) {
    Word word;
    Simulation simulation({.costs = costs, .cores = 1});
    simulation.run(1, [&](int) {
      M::compute(work);
      access(*word);
    });
    return simulation.elapsed_ns();
  };
  const auto update = [](auto& word) { word.fetch_add(1); };
  const auto load = [](auto& word) { word.load(kRelaxed); };
  const auto chained = [](auto& word) { word.load(std::memory_order_acquire); };
  EXPECT_EQ(takes(update, 1000), 1000 + 70 + 5);
  EXPECT_EQ(takes(update, 10), 100 + 5);
  EXPECT_EQ(takes(load, 1000), 1000 + 70);
  EXPECT_EQ(takes(chained, 1000), 1000 + 101);
}

// What is asked for ahead of the work is asked for after the update before it.
TEST(Simulation, NothingIsAskedForBeforeAnAtomicUpdateEnds) {
  CoherenceCosts costs = kCosts;
  costs.ahead_ns = 30;
  Word first;
  Word second;
  Simulation simulation({.costs = costs, .cores = 1});
  simulation.run(1, [&](int) {
    first->fetch_add(1);  // until 105
    M::compute(20);
    second->fetch_add(1);
  });
  EXPECT_EQ(simulation.elapsed_ns(), 105 + 105);
}

// An update of a line that one holds waits for the work before it, and finds
// the line gone if another core has taken it meanwhile.
TEST(Simulation, ALineCanBeLostWhileItsOwnerComputes) {
  CoherenceCosts costs = kCosts;
  costs.ahead_ns = 30;
  Word word;
  Simulation simulation({.costs = costs, .cores = 2});
  simulation.run(1, [&](int) { word->fetch_add(1); });
  std::uint64_t seen = 0;
  simulation.run(2, [&](int core) {
    if (core == 1) {
      M::compute(130);  // takes the line at 100, until 200 + 5 + 10
      word->fetch_add(1);
    } else {
      M::compute(120);
      seen = word->fetch_add(1);
    }
  });
  EXPECT_EQ(seen, 2U);
  // Not asked for at 90, when it was there, but at 120.
  EXPECT_EQ(simulation.elapsed_ns(), 215 + 100 + 5);
}

// Where lines migrate, who reads what another has written may write it; what
// nobody has written since is shared.
TEST(Simulation, LinesThatMigrateAreReadAndWrittenForOneTransfer) {
  CoherenceCosts costs = kCosts;
  costs.tenure_ns = 0;
  for (const bool migrates : {false, true}) {
    costs.migrates = migrates;
    Word word;
    Simulation simulation({.costs = costs, .cores = 3});
    const auto takes = [&](int core, const auto& body) {
      simulation.run(3, [&](int thread) {
        if (thread == core) body();
      });
      return simulation.elapsed_ns();
    };
    const auto load = [&] { word->load(); };
    const auto both = [&] {
      word->load();
      word->fetch_add(1);
    };
    takes(0, both);
    EXPECT_EQ(takes(1, both), migrates ? 106 : 206);
    EXPECT_EQ(takes(2, load), 101);  // migrates to 2, which only reads it
    EXPECT_EQ(takes(1, both), migrates ? 206 : 106);
  }
}

TEST(Simulation, AnOwnerGoesOnUsingALineThatOthersWaitFor) {
  Word word;
  std::uint64_t first = 0;
  elapsed(2, [&](int core) {
    if (core == 1) {
      M::compute(101);  // its turn comes at 100 + 5 + 10
      first = word->fetch_add(1);
    } else {
      // Updates at 100, 105, 110 and 115, and not once more.
      for (int i = 0; i < 5; ++i) word->fetch_add(1);
    }
  });
  EXPECT_EQ(first, 4U);
}

TEST(Simulation, AFetchAndAddHeadSaturates) {
  const auto rate = [](int cores) {
    Word word;
    const double time = elapsed(cores, [&](int) {
      for (int i = 0; i < 200; ++i) {
        word->fetch_add(1);
        M::compute(1000);
      }
    });
    return 200 * cores / time;
  };
  EXPECT_NEAR(rate(4) / rate(1), 4, 0.8);
  // One update per transfer and tenure.
  EXPECT_NEAR(rate(64), 1 / 115.0, 0.0005);
  EXPECT_NEAR(rate(128), 1 / 115.0, 0.0005);
}

// What calibrate() reads the tenure from.
TEST(Simulation, TheTenureSetsTheRateOfContendedUpdates) {
  for (const int more : {1, 2, 5, 10}) {
    CoherenceCosts costs = kCosts;
    costs.tenure_ns = (more - 0.5) * 5;
    Word word;
    Simulation simulation({.costs = costs, .cores = 2});
    simulation.run(2, [&](int) {
      for (int i = 0; i < 2000; ++i) word->fetch_add(1);
    });
    const double expected = (1 + more) / (100 + 5 + costs.tenure_ns);
    EXPECT_NEAR(4000 / simulation.elapsed_ns() / expected, 1, 0.02) << more;
  }
}

// A request travels while the line is still in use.
TEST(Simulation, OnlyTheHandoverIsSerial) {
  CoherenceCosts costs = kCosts;
  costs.handover_ns = 40;
  Word word;
  Simulation simulation({.costs = costs, .cores = 4});
  simulation.run(4, [&](int) { word->fetch_add(1); });
  // The first at 100; the others 5 + 10 + 40 after each other.
  EXPECT_EQ(simulation.elapsed_ns(), 100 + 3 * 55 + 5);
  // Nobody waits where requests come further apart than that.
  simulation.run(4, [&](int core) {
    M::compute(static_cast<std::uint64_t>(core) * 60);
    word->fetch_add(1);
  });
  EXPECT_EQ(simulation.elapsed_ns(), 3 * 60 + 100 + 5);
}

TEST(Simulation, IsTheSameEveryTime) {
  const auto trace = [] {
    Word lock;
    Word words[4];
    std::vector<int> order;
    Simulation simulation({.costs = kCosts, .cores = 3});
    simulation.run(7, [&](int thread) {
      for (int i = 0; i < 20; ++i) {
        words[(thread + i) % 4]->fetch_add(1);
        Backoff<M> backoff;
        while (lock->exchange(1, std::memory_order_acquire) != 0) backoff();
        order.push_back(thread);
        lock->store(0, kRelease);
      }
    });
    return std::pair(order, simulation.elapsed_ns());
  };
  EXPECT_EQ(trace(), trace());
}

TEST(Simulation, ThreadsOfOneCoreTakeTurns) {
  Word word;
  Simulation simulation({.costs = kCosts, .cores = 1});
  std::vector<int> order;
  simulation.run(2, [&](int thread) {
    for (int i = 0; i < 3; ++i) {
      order.push_back(thread);
      M::compute(20000);  // two quanta
      word->load();
    }
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 0, 1, 0, 1}));
  // Each thread gives the core away three times, before its loads.
  EXPECT_EQ(simulation.elapsed_ns(), 6 * 20000 + 100 + 6 + 6 * 1000);
  EXPECT_EQ(simulation.statistics().switches, 6U);
}

TEST(Simulation, YieldLetsAnotherThreadReleaseTheLock) {
  Word flag;
  Simulation simulation({.costs = kCosts, .cores = 1});
  simulation.run(2, [&](int thread) {
    if (thread == 1) return flag->store(1, kRelease);
    while (flag->load(std::memory_order_acquire) == 0) M::yield();
  });
  EXPECT_LT(simulation.elapsed_ns(), 3000);
}

TEST(Simulation, NamesTheLinesThatMakeCoresWait) {
  Word hot;
  Word cold[16];
  Simulation simulation({.costs = kCosts, .cores = 16});
  simulation.run(16, [&](int i) {
    cold[i]->fetch_add(1);
    for (int k = 0; k < 10; ++k) hot->fetch_add(1);
  });
  const auto lines = simulation.busiest_lines(1);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].address, static_cast<const void*>(&hot));
  EXPECT_EQ(lines[0].waited_ns, simulation.statistics().waited_ns);
}

TEST(Simulation, ExceptionsOfThreadsReachTheCaller) {
  Word word;
  Simulation simulation({.costs = kCosts, .cores = 2});
  EXPECT_THROW(simulation.run(3,
                              [&](int thread) {
                                word->fetch_add(1);
                                if (thread == 1)
                                  throw std::runtime_error("thread 1");
                              }),
               std::runtime_error);
  EXPECT_EQ(word->load(), 3U);  // the others have ended
  simulation.run(2, [&](int) { word->fetch_add(1); });
  EXPECT_EQ(word->load(), 5U);
}

// Switches inside handlers: each thread must still hold its own exception.
TEST(Simulation, HandlersOfDifferentThreadsDoNotMix) {
  Word word;
  Simulation simulation({.costs = kCosts, .cores = 4});
  simulation.run(4, [&](int thread) {
    for (int i = 0; i < 10; ++i) try {
        throw std::to_string(thread);
      } catch (const std::string& text) {
        word->fetch_add(1);
        EXPECT_EQ(text, std::to_string(thread));
        try {
          throw;
        } catch (const std::string& again) {
          word->fetch_add(1);
          EXPECT_EQ(again, std::to_string(thread));
        }
      }
  });
  EXPECT_EQ(word->load(), 80U);
}

TEST(Simulation, EndsWhenThreadsWaitForever) {
  Word word;
  Simulation simulation({.costs = kCosts, .cores = 2, .most_ns = 10000});
  weft::test::expect_error(ErrorCode::kExhausted, {"2 threads"}, [&] {
    simulation.run(2, [&](int) {
      while (word->load() == 0) M::pause();
    });
  });
  // The machine can be used again.
  simulation.run(2, [&](int) { word->fetch_add(1); });
  EXPECT_EQ(word->load(), 2U);
}

TEST(Simulation, RefusesWhatItCannotSimulate) {
  const auto refused = [](const SimulationOptions& options, const char* what) {
    weft::test::expect_error(ErrorCode::kInvalidArgument, {what},
                             [&] { const Simulation simulation(options); });
  };
  refused({.cores = 0}, "cores");
  refused({.cores = 129}, "cores");
  refused({.costs = {.load_ns = -1}}, "load_ns");
  Simulation simulation({});
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"threads"},
                           [&] { simulation.run(0, [](int) {}); });
}

TEST(SimulatedAtomic, DoesWhatStdAtomicDoes) {
  Atomic<std::int32_t> number{std::numeric_limits<std::int32_t>::max()};
  EXPECT_EQ(number.fetch_add(1), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(number.load(), std::numeric_limits<std::int32_t>::min());
  std::int32_t expected = 7;
  EXPECT_FALSE(number.compare_exchange_weak(expected, 1));
  EXPECT_EQ(expected, std::numeric_limits<std::int32_t>::min());
  EXPECT_TRUE(number.compare_exchange_strong(expected, 12));
  EXPECT_EQ(number.fetch_or(3), 12);
  EXPECT_EQ(number.fetch_and(6), 15);
  EXPECT_EQ(number.fetch_sub(1), 6);
  EXPECT_EQ(number.exchange(1), 5);

  std::vector<int> values(4);
  Atomic<int*> pointer{values.data()};
  EXPECT_EQ(pointer.fetch_add(2), values.data());
  EXPECT_EQ(pointer.load(), &values[2]);
}

}  // namespace
}  // namespace weft::concurrent::simulation_test
