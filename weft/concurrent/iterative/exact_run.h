// The exact concurrent scheduler, rival of the relaxed ones: since no task
// arrives later, the queue is an array in order of priority with an atomic
// head. A thread that draws a blocked task waits until it is no longer blocked.
//
// Source: the exact scheduler that PODC 2018 (relaxed_run.h) compares with.
//
// Threads: work() by all at once, each with a number of its own; the rest by
// the caller.
#pragma once

#include <memory>

#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent {

// A run in the hands of whoever owns the threads: each calls work().
template <IterativeProblem Problem>
class ExactRun {
 public:
  // The problem must outlive the run.
  ExactRun(Problem& problem, int threads)
      : problem_(problem),
        threads_(static_cast<std::size_t>(threads)),
        counts_(std::make_unique<CacheAligned<RunCounts>[]>(threads_)) {}

  void work(int thread) {
    RunCounts counts;
    for (;;) {
      // Numbers are drawn in order, so all earlier tasks are done or in
      // somebody's hands: waiting for them comes to an end.
      const std::uint64_t next = head_->fetch_add(1, std::memory_order_relaxed);
      if (next >= problem_.tasks()) break;
      Backoff<M> wait;
      for (;;) {
        const Outcome outcome =
            problem_.attempt(static_cast<Task>(next), thread);
        counts.count(outcome);
        if (outcome != Outcome::kBlocked) break;
        wait();
      }
    }
    *counts_[static_cast<std::size_t>(thread)] = counts;
  }

  RunCounts counts() const {
    RunCounts sum;
    for (std::size_t i = 0; i < threads_; ++i) sum += *counts_[i];
    return sum;
  }

 private:
  using M = typename Problem::MemoryType;

  Problem& problem_;
  std::size_t threads_;
  CacheAligned<typename M::template Atomic<std::uint64_t>> head_;
  std::unique_ptr<CacheAligned<RunCounts>[]> counts_;
};

template <IterativeProblem Problem>
RunCounts run_exact(Problem& problem, int threads) {
  ExactRun<Problem> run(problem, threads);
  run_threads(threads, [&](int thread) { run.work(thread); });
  return run.counts();
}

}  // namespace weft::concurrent
