// Small transactions whose steps are run in all orders, each with what must
// hold.
#pragma once

#include <memory>
#include <utility>

#include "tests/support/stm_orders.h"

#include "weft/concurrent/coherence/simulated_memory.h"

namespace weft::concurrent::stm_transactions {

using M = SimulatedMemory;
using T = Transaction<M>;

class KillAtOnce final : public ConflictPolicy {
 public:
  Decision decide(const ConflictInfo& /*conflict*/,
                  FastRandom& /*random*/) const override {
    return {0, AfterDelay::kKillOwner};
  }
};

inline StmOptions small(ClockKind clock,
                        Locking locking = Locking::kCommitTime) {
  StmOptions options = weft::test::small_stm(clock);
  options.locking = locking;
  if (locking == Locking::kEncounterTime)
    options.policy = std::make_shared<KillAtOnce>();
  return options;
}

struct TwoWords : weft::test::TwoWords<M> {
  using weft::test::TwoWords<M>::TwoWords;

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

inline const ExplorationOptions kAllOrders = {};

// Where there are too many: all with so many switches away from a thread that
// could go on.
inline ExplorationOptions at_most_switches(int count) {
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
      return;  // Nothing was committed that would count.
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

inline StmOptions with_kills() {
  return small(ClockKind::kGv4, Locking::kEncounterTime);
}

}  // namespace weft::concurrent::stm_transactions
