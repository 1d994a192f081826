// Runs an iterative problem from a relaxed queue: a task that turns out to be
// blocked goes back and is tried again later.
//
// For independent sets and matchings in random order the expected waste is
// poly(k) tries, whatever the graph; for problems that wait for all earlier
// neighbours it is O(m / n) poly(k) (theorems 2 and 1 of the paper).
//
// The run ends when every task is decided. That the queue is empty says
// nothing, as another thread may hold a task.
//
// Source: Alistarh, Brown, Kopinsky, Nadiradze, PODC 2018, algorithm 2.
//
// Threads: fill() and work() by all at once, each with a number of its own;
// the rest by the caller.
#pragma once

#include <memory>

#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/queue/relaxed_queue.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent {

// A run in the hands of whoever owns the threads: each of them calls fill(),
// and once all have, work().
template <IterativeProblem Problem, RelaxedQueue Queue>
class RelaxedRun {
 public:
  // The queue must be empty. It and the problem must outlive the run.
  RelaxedRun(Problem& problem, Queue& queue, int threads)
      : problem_(problem),
        queue_(queue),
        threads_(static_cast<std::uint32_t>(threads)),
        workers_(std::make_unique<CacheAligned<Worker>[]>(threads_)) {}

  // Pushes this thread's share of the tasks.
  void fill(int thread) {
    auto handle = queue_.handle(thread);
    for (auto task = static_cast<std::uint64_t>(thread);
         task < problem_.tasks(); task += threads_)
      handle.push({static_cast<Task>(task)});
  }

  // Returns when all tasks are decided, or when another thread's queue has
  // thrown; what this thread's queue throws (std::bad_alloc) comes out here.
  void work(int thread) {
    try {
      work_until_decided(thread);
    } catch (...) {
      failed_.store(1, std::memory_order_relaxed);
      throw;
    }
  }

  // Once all threads have returned.
  RunCounts counts() const {
    RunCounts sum;
    for (std::uint32_t i = 0; i < threads_; ++i) sum += workers_[i]->counts;
    return sum;
  }

 private:
  using M = typename Problem::MemoryType;
  using Word = typename M::template Atomic<std::uint64_t>;

  struct Worker {
    RunCounts counts;
    Word decided{0};  // of counts, when the queue last looked empty
  };

  // After so many blocked tasks in a row others need the core more.
  static constexpr int kPatience = 64;

  void work_until_decided(int thread) {
    Worker& worker = *workers_[static_cast<std::size_t>(thread)];
    auto handle = queue_.handle(thread);
    Backoff<M> wait;
    int blocked_in_a_row = 0;
    for (;;) {
      const auto entry = handle.pop();
      if (!entry) {
        // It is published only when there seems to be nothing left: while there
        // is work, nobody touches a line that others read.
        worker.decided.store(worker.counts.decided(),
                             std::memory_order_release);
        if (all_decided() || has_failed()) return;
        wait();
        continue;
      }
      const Outcome outcome = problem_.attempt(entry->key, thread);
      worker.counts.count(outcome);
      if (outcome != Outcome::kBlocked) {
        blocked_in_a_row = 0;
        wait.reset();
        continue;
      }
      handle.push(*entry);
      if (++blocked_in_a_row < kPatience) continue;
      // What a thread that failed had in its hands is never decided, and blocks
      // those behind it.
      if (has_failed()) return;
      wait();
    }
  }

  bool has_failed() const {
    return failed_.load(std::memory_order_relaxed) != 0;
  }

  // A sum over cells that only grow, so equality is final.
  bool all_decided() const {
    std::uint64_t decided = 0;
    for (std::uint32_t i = 0; i < threads_; ++i)
      decided += workers_[i]->decided.load(std::memory_order_acquire);
    return decided == problem_.tasks();
  }

  Problem& problem_;
  Queue& queue_;
  std::uint32_t threads_;
  std::unique_ptr<CacheAligned<Worker>[]> workers_;
  Word failed_{0};
};

// Runs on threads of its own. The queue must be empty, and is again afterwards.
template <IterativeProblem Problem, RelaxedQueue Queue>
RunCounts run_relaxed(Problem& problem, Queue& queue, int threads) {
  RelaxedRun<Problem, Queue> run(problem, queue, threads);
  run_threads(threads, [&](int thread) { run.fill(thread); });
  run_threads(threads, [&](int thread) { run.work(thread); });
  return run.counts();
}

}  // namespace weft::concurrent
