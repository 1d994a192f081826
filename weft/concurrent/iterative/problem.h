// Algorithms that visit tasks in a fixed order of priority, where a task waits
// only for the earlier ones that it depends on: greedy independent sets,
// matchings, colourings, shuffles, contractions. Whoever runs the tasks, and in
// whichever order they are tried, the result is the sequential one.
//
// A Problem numbers its tasks by rank, 0 first. attempt(task, thread) looks
// whether the task's fate is decided by now:
//
//   kProcessed  it has been carried out
//   kDropped    an earlier one made it superfluous
//   kBlocked    an earlier one is still undecided; try again later
//
// attempt() must be monotone: what it has once decided stays, and the first
// undecided task is never blocked. It may be called for different tasks by many
// threads at once, and for one task by one thread at a time; it does not throw.
//
//   const Order order = random_order(graph.vertices(), seed);
//   const Graph ranked = graph.renamed(order.rank_of);
//   IndependentSet<> set(ranked);
//   MultiQueue<Task> queue({.queues = 4 * threads});
//   const RunCounts counts = run_relaxed(set, queue, threads);
//   set.chosen();  // by rank; the same for any queue and number of threads
//
// Source: Alistarh, Brown, Kopinsky, Nadiradze, "Relaxed schedulers can
// efficiently parallelize iterative algorithms", PODC 2018.
#pragma once

#include <concepts>
#include <cstdint>

#include "weft/concurrent/iterative/order.h"

namespace weft::concurrent {

enum class Outcome : std::uint8_t { kProcessed, kDropped, kBlocked };

template <class P>
concept IterativeProblem = requires(P& problem, Task task, int thread) {
  { problem.tasks() } -> std::same_as<Task>;
  { problem.attempt(task, thread) }
  noexcept->std::same_as<Outcome>;
  typename P::MemoryType;
};

// What a run took. Only `blocked` depends on the scheduler: it is the waste,
// and zero for an exact one on one thread.
struct RunCounts {
  std::uint64_t processed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t blocked = 0;

  std::uint64_t decided() const { return processed + dropped; }
  std::uint64_t iterations() const { return decided() + blocked; }

  void count(Outcome outcome) {
    ++(outcome == Outcome::kProcessed ? processed
       : outcome == Outcome::kDropped ? dropped
                                      : blocked);
  }

  RunCounts& operator+=(const RunCounts& other) {
    processed += other.processed;
    dropped += other.dropped;
    blocked += other.blocked;
    return *this;
  }
};

// The sequential algorithm: one task after the other.
template <IterativeProblem Problem>
RunCounts run_in_order(Problem& problem) {
  RunCounts counts;
  for (Task task = 0; task < problem.tasks(); ++task)
    counts.count(problem.attempt(task, 0));
  return counts;
}

}  // namespace weft::concurrent
