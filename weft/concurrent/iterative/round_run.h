// Runs an iterative problem in rounds: all threads try the first `prefix`
// undecided tasks, those that are blocked stay first in line for the next
// round. No queue and no locks, but two barriers a round; the strong rival of
// relaxed scheduling.
//
// Source: Blelloch, Fineman, Shun, "Greedy sequential maximal independent set
// and matching are parallel on average", SPAA 2012, the prefix-based algorithm.
//
// Threads: work() by all at once, each with a number of its own; the rest by
// the caller.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent {

// All of `threads` arrive before any leaves.
template <Memory M>
class Barrier {
 public:
  explicit Barrier(int threads)
      : threads_(static_cast<std::uint64_t>(threads)) {}

  void arrive_and_wait() {
    const std::uint64_t ticket =
        arrived_.fetch_add(1, std::memory_order_acq_rel);
    // The count goes on from one use to the next, so there is nothing to reset,
    // and no moment at which a slow thread could miss it.
    const std::uint64_t all = (ticket / threads_ + 1) * threads_;
    Backoff<M> wait;
    while (arrived_.load(std::memory_order_acquire) < all) wait();
  }

 private:
  std::uint64_t threads_;
  typename M::template Atomic<std::uint64_t> arrived_{0};
};

// A run in the hands of whoever owns the threads: each calls work().
template <IterativeProblem Problem>
class RoundRun {
 public:
  // The problem must outlive the run. Throws Error(kInvalidArgument) unless
  // prefix is at least 1.
  RoundRun(Problem& problem, int threads, Task prefix)
      : problem_(problem),
        threads_(static_cast<std::size_t>(threads)),
        prefix_(std::min(prefix, problem.tasks())),
        workers_(std::make_unique<CacheAligned<Worker>[]>(threads_)),
        barrier_(threads) {
    if (prefix < 1)
      throw Error(ErrorCode::kInvalidArgument, "RoundRun", "prefix is 0")
          .hint("at least 1 task a round");
    // All memory now: a thread that throws would leave the others waiting.
    line_.reserve(prefix_);
    for (std::size_t i = 0; i < threads_; ++i)
      workers_[i]->blocked.reserve(prefix_ / threads_ + 1);
    line_up();
  }

  void work(int thread) {
    const auto number = static_cast<std::size_t>(thread);
    Worker& worker = *workers_[number];
    while (!line_.empty()) {
      // Shares are pieces of the line, so that the blocked ones, put together
      // in the order of threads, are in order again.
      const std::size_t begin = line_.size() * number / threads_;
      const std::size_t end = line_.size() * (number + 1) / threads_;
      for (std::size_t i = begin; i < end; ++i) {
        const Outcome outcome = problem_.attempt(line_[i], thread);
        worker.counts.count(outcome);
        if (outcome == Outcome::kBlocked) worker.blocked.push_back(line_[i]);
      }
      barrier_.arrive_and_wait();
      // Between the two barriers nobody else looks at the line or the blocked.
      if (thread == 0) line_up();
      barrier_.arrive_and_wait();
    }
  }

  RunCounts counts() const {
    RunCounts sum;
    for (std::size_t i = 0; i < threads_; ++i) sum += workers_[i]->counts;
    return sum;
  }

  std::uint64_t rounds() const { return rounds_; }

 private:
  using M = typename Problem::MemoryType;

  struct Worker {
    RunCounts counts;
    std::vector<Task> blocked;
  };

  // Those that were blocked, in order, and then new ones.
  void line_up() {
    line_.clear();
    for (std::size_t i = 0; i < threads_; ++i) {
      auto& blocked = workers_[i]->blocked;
      line_.insert(line_.end(), blocked.begin(), blocked.end());
      blocked.clear();
    }
    while (line_.size() < prefix_ && next_ < problem_.tasks())
      line_.push_back(next_++);
    if (!line_.empty()) ++rounds_;
  }

  Problem& problem_;
  std::size_t threads_;
  Task prefix_;
  std::unique_ptr<CacheAligned<Worker>[]> workers_;
  Barrier<M> barrier_;
  std::vector<Task> line_;
  Task next_ = 0;
  std::uint64_t rounds_ = 0;
};

template <IterativeProblem Problem>
RunCounts run_rounds(Problem& problem, int threads, Task prefix) {
  RoundRun<Problem> run(problem, threads, prefix);
  run_threads(threads, [&](int thread) { run.work(thread); });
  return run.counts();
}

}  // namespace weft::concurrent
