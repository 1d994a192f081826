// When the iterations of a lock-free SGD ran, and how stale that made them.
//
// Two iterations are concurrent if their intervals overlap, from where one
// begins to read to its last write. The theory (Alistarh, De Sa, Konstantinov,
// PODC 2018) is about the most that any is concurrent with, tau_max, and their
// mean, tau_avg, which is at most 2 n for n threads whatever the scheduler
// does. An adversary can make single iterations very stale, but not many at
// once: of any K n iterations that start one after the other, at most n see
// more than K n others start before they end. Hence sum over m >= 1 of
// 1{tau_(t+m) >= m} is at most 2 sqrt(tau_max n) for every t.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace weft::concurrent {

// The moments are of one clock, of any unit.
struct IterationTrace {
  std::uint64_t iteration = 0;
  int thread = 0;
  std::uint64_t start = 0;  // it begins to read
  std::uint64_t first_write = 0;
  std::uint64_t end = 0;  // its last write is done
};

struct DelayStatistics {
  std::uint64_t iterations = 0;  // that were traced
  std::uint64_t tau_max = 0;     // others that one was concurrent with
  double tau_avg = 0;
  std::uint64_t most_starts = 0;  // that fell between a start and its end
  // The largest number of K-bad iterations among K n consecutive starts, over
  // K = 1, 2, 4, …: at most n by the lemma.
  std::uint64_t most_bad = 0;
  // The largest sum of the lemma, and what bounds it: 2 sqrt(most_starts n).
  std::uint64_t worst_sum = 0;
  double sum_bound = 0;

  // Whether the trace is as the lemma says; an end of a trace may lack n.
  bool lemma_holds(int threads) const;
};

// O(N log N). The intervals of a thread do not overlap.
DelayStatistics delays_of(std::span<const IterationTrace> trace, int threads);

}  // namespace weft::concurrent
