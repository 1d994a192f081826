// Programs of a few transactions on two words, for tests that run all orders of
// their steps.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <utility>
#include <vector>

#include "weft/concurrent/coherence/explorer.h"
#include "weft/concurrent/stm/session.h"

namespace weft::test {

// After one failed attempt a transaction runs alone: so the orders are finite,
// and those of running alone are among them.
inline concurrent::StmOptions small_stm(concurrent::ClockKind clock) {
  concurrent::StmOptions options{.clock = clock, .clock_cells = 1};
  options.locks_log2 = 0;
  options.most_threads = 3;
  options.retries_before_serial = 1;
  options.hardware_attempts = 1;
  options.lock_spins = 0;
  return options;
}

// Words x and y that are equal in the end, and a session for each thread.
template <concurrent::Memory M>
struct TwoWords : concurrent::Program {
  TwoWords(const concurrent::StmOptions& options, int threads)
      : TwoWords(options, threads,
                 concurrent::make_clock<M>(options.clock, 1, 10)) {}
  TwoWords(const concurrent::StmOptions& options, int threads,
           std::unique_ptr<concurrent::Clock<M>> clock)
      : stm(options, std::move(clock)) {
    for (int i = 0; i < threads; ++i)
      sessions.push_back(std::make_unique<concurrent::Session<M>>(
          stm, static_cast<std::uint64_t>(i)));
  }

  concurrent::Session<M>& session(int thread) {
    return *sessions[static_cast<std::size_t>(thread)];
  }

  void check() override {
    using concurrent::LockWord;
    concurrent::require(x.unshared() == y.unshared(), "the pair is torn");
    concurrent::require(!LockWord::is_held(x.lock().load()), "a lock is left");
    concurrent::require(!LockWord::is_held(y.lock().load()), "a lock is left");
    concurrent::require(!stm.is_serial(), "the right to run alone is left");
  }

  concurrent::Stm<M> stm;
  std::vector<std::unique_ptr<concurrent::Session<M>>> sessions;
  concurrent::LockedCell<int, M> x{0};
  concurrent::LockedCell<int, M> y{0};
};

// Explores the orders of a program P(args…) of so many threads, all of which
// must be right.
template <class P, class... Args>
void expect_right(int threads, const concurrent::ExplorationOptions& limits,
                  Args... args) {
  const concurrent::Exploration found = concurrent::explore(
      threads, [=] { return std::make_unique<P>(args...); }, limits);
  EXPECT_EQ(found.failure, "") << found.describe();
  EXPECT_TRUE(found.is_complete) << found.executions;
}

}  // namespace weft::test
