// Stochastic gradient descent by several threads on one vector, without waiting
// for each other.
//
//   const SgdRun run = run_epoch_sgd<float>(problem, x,
//       {.kind = UpdateKind::kHogwild, .threads = 2, .iterations = 100000,
//        .rate = 0.1});
//
// EpochSGD of Alistarh, De Sa, Konstantinov, "The Convergence of Stochastic
// Gradient Descent in Asynchronous Shared Memory", PODC 2018: each thread takes
// the number of an iteration from a counter, reads the entries that its sample
// needs one by one, computes the gradient there, and adds to each entry what it
// must change by. Exactly `iterations` are run, whatever the threads do.
//
// With one thread all kinds leave the same bits; with more, what comes out
// depends on the scheduler, and a seed repeats nothing.
//
// Threads: run_epoch_sgd() starts its own. An EpochSgd is worked at by all of
// its threads at once.
// Errors:  Error(kInvalidArgument) for options that make no sense,
//          Error(kNumeric) where a gradient is no number: nothing of it is
//          added, and all threads end. So they do where a problem throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/sgd/problem.h"
#include "weft/concurrent/sgd/shared_vector.h"
#include "weft/concurrent/sgd/trace.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent {

struct SgdOptions {
  UpdateKind kind = UpdateKind::kHogwild;
  int threads = 1;
  std::uint64_t first = 0;  // the number of the first iteration
  std::uint64_t iterations = 0;
  double rate = 0.1;
  // Iterations that a thread takes from the counter at a time; 0: 64, or 1 in
  // round robin, where a thread that holds several makes all others wait.
  std::uint32_t batch = 0;
  // Reads are repeated until two in a row agree (a double collect): a view that
  // was in memory at one moment, unless an entry changed and changed back. It
  // is there to see what views that never were cost; it may read for long.
  bool snapshot = false;
  // The first so many iterations are stamped with the clock, which costs each
  // some 50 ns.
  std::uint64_t traced = 0;
};

struct SgdRun {
  std::uint64_t iterations = 0;
  std::uint64_t changes = 0;  // of entries
  std::uint64_t rereads = 0;  // of snapshots that did not agree
  double seconds = 0;
  std::vector<IterationTrace> trace;
};

// Throws Error(kInvalidArgument) with the reason.
void check(const SgdOptions& options);

template <class Number, Memory M = RealMemory>
class EpochSgd {
 public:
  // `problem` and `x` must outlive this. O(dimensions) memory for each thread.
  EpochSgd(const SgdProblem<Number>& problem, std::span<Number> x,
           const SgdOptions& options)
      : problem_(problem), shared_(x, options.kind), options_(options) {
    check(options);
    if (x.size() != problem.dimensions())
      throw Error(ErrorCode::kInvalidArgument, "sgd",
                  "x has {} entries, the problem {}", x.size(),
                  problem.dimensions());
    if (options_.batch == 0)
      options_.batch = options.kind == UpdateKind::kRoundRobin ? 1 : kBatch;
    workers_.resize(static_cast<std::size_t>(options.threads));
  }

  // What one of the threads does, until all iterations are taken. `sum`, if
  // there is one, gets all that this thread adds to x.
  void work(int thread, std::span<Number> sum = {}) {
    try {
      with_kind(options_.kind, [&]<UpdateKind kKind>() {
        this->template work_as<kKind>(thread, sum);
      });
    } catch (...) {
      stop();
      throw;
    }
  }

  // All threads end before their next iteration.
  void stop() { has_stopped_->store(1, std::memory_order_relaxed); }

  const SharedVector<Number, M>& shared() const { return shared_; }

  // What all have done, when all have ended.
  SgdRun result() const {
    SgdRun run;
    for (const auto& worker : workers_) {
      run.iterations += worker->run.iterations;
      run.changes += worker->run.changes;
      run.rereads += worker->run.rereads;
      run.trace.insert(run.trace.end(), worker->run.trace.begin(),
                       worker->run.trace.end());
    }
    return run;
  }

 private:
  static constexpr std::uint32_t kBatch = 64;

  // What a thread has for itself.
  struct Worker {
    std::vector<Number> view;
    std::vector<Number> again;  // of a double collect
    std::vector<Number> changes;
    SgdRun run;
  };

  bool has_stopped() const {
    return has_stopped_->load(std::memory_order_relaxed) != 0;
  }

  template <UpdateKind kKind>
  void work_as(int thread, std::span<Number> sum) {
    Worker& worker = *workers_[static_cast<std::size_t>(thread)];
    while (true) {
      const std::uint64_t taken =
          next_->fetch_add(options_.batch, std::memory_order_relaxed);
      if (taken >= options_.iterations) return;
      const std::uint64_t end =
          taken +
          std::min<std::uint64_t>(options_.batch, options_.iterations - taken);
      std::uint64_t sample = problem_.sample(options_.first + taken);
      for (std::uint64_t i = taken; i < end; ++i) {
        if (has_stopped()) return;
        std::uint64_t following = 0;
        if (i + 1 < end) {
          following = problem_.sample(options_.first + i + 1);
          problem_.prefetch(following);
        }
        iterate<kKind>(worker, thread, i, sample, sum);
        sample = following;
      }
    }
  }

  template <UpdateKind kKind>
  void iterate(Worker& worker, int thread, std::uint64_t number,
               std::uint64_t sample, std::span<Number> sum) {
    std::optional<IterationTrace> trace;
    if (number < options_.traced)
      trace = {.iteration = options_.first + number,
               .thread = thread,
               .start = M::nanoseconds()};
    std::unique_lock<SpinLock<M>> lock;
    if constexpr (kKind == UpdateKind::kLocked) lock = shared_.lock();
    const auto support = problem_.support(sample);
    const std::span<const Number> changes = changes_of(worker, sample, support);
    if constexpr (kKind == UpdateKind::kRoundRobin) {
      if (!wait_for_turn(number)) return;
    }
    if (trace) trace->first_write = M::nanoseconds();
    if (support.empty()) {
      add_dense<kKind>(thread, changes);
    } else {
      shared_.template add<kKind>(support, changes);
    }
    if constexpr (kKind == UpdateKind::kRoundRobin)
      turn_->store(number + 1, std::memory_order_release);
    if (trace) {
      trace->end = M::nanoseconds();
      worker.run.trace.push_back(*trace);
    }
    ++worker.run.iterations;
    for (std::size_t k = 0; k < changes.size(); ++k)
      worker.run.changes += changes[k] != 0 ? 1 : 0;
    if (!sum.empty()) {
      for (std::size_t k = 0; k < changes.size(); ++k)
        sum[support.empty() ? k : support[k]] += changes[k];
    }
  }

  // -rate times the gradient, at what is read now.
  std::span<const Number> changes_of(Worker& worker, std::uint64_t sample,
                                     std::span<const std::uint32_t> support) {
    const std::size_t size = support.empty() ? shared_.size() : support.size();
    if (worker.view.size() < size) {
      worker.view.resize(size);
      worker.changes.resize(size);
      if (options_.snapshot) worker.again.resize(size);
    }
    const std::span<Number> view(worker.view.data(), size);
    const std::span<Number> changes(worker.changes.data(), size);
    read(support, view);
    if (options_.snapshot) collect_again(worker, support, view);
    problem_.gradient(sample, view, changes);
    // Where all are numbers this is 0, and else none.
    Number zero = 0;
    const auto scale = static_cast<Number>(-options_.rate);
#pragma omp simd reduction(+ : zero)
    for (std::size_t k = 0; k < size; ++k) {
      zero += changes[k] * Number{0};
      changes[k] *= scale;
    }
    if (zero != 0)
      throw Error(ErrorCode::kNumeric, "sgd",
                  "the gradient of sample {} is no number", sample)
          .hint("a smaller rate often helps");
    return changes;
  }

  void read(std::span<const std::uint32_t> support, std::span<Number> view) {
    if (support.empty()) {
      shared_.read(std::size_t{0}, view);
    } else {
      shared_.read(support, view);
    }
  }

  void collect_again(Worker& worker, std::span<const std::uint32_t> support,
                     std::span<Number> view) {
    const std::span<Number> again(worker.again.data(), view.size());
    while (!has_stopped()) {
      read(support, again);
      // Their bytes are compared, as what is no number equals nothing.
      if (std::memcmp(again.data(), view.data(), view.size_bytes()) == 0)
        return;
      std::copy(again.begin(), again.end(), view.begin());
      ++worker.run.rereads;
    }
  }

  // Threads begin at different places, so that they are seldom at the same.
  template <UpdateKind kKind>
  void add_dense(int thread, std::span<const Number> changes) {
    const std::size_t begin = changes.size() *
                              static_cast<std::size_t>(thread) /
                              static_cast<std::size_t>(options_.threads);
    shared_.template add<kKind>(begin, changes.subspan(begin));
    shared_.template add<kKind>(std::size_t{0}, changes.first(begin));
  }

  // Whether it came, before somebody failed.
  bool wait_for_turn(std::uint64_t number) {
    Backoff<M> wait;
    while (turn_->load(std::memory_order_acquire) != number) {
      if (has_stopped()) return false;
      wait();
    }
    return true;
  }

  template <class T>
  using Atomic = typename M::template Atomic<T>;

  const SgdProblem<Number>& problem_;
  SharedVector<Number, M> shared_;
  SgdOptions options_;
  CacheAligned<Atomic<std::uint64_t>> next_;
  CacheAligned<Atomic<std::uint64_t>> turn_;
  CacheAligned<Atomic<std::uint32_t>> has_stopped_;
  std::vector<CacheAligned<Worker>> workers_;
};

// Runs it on threads of its own; what the first of them threw reaches the
// caller when all have ended. Compiled for float and double.
template <class Number>
SgdRun run_epoch_sgd(const SgdProblem<Number>& problem, std::span<Number> x,
                     const SgdOptions& options);

}  // namespace weft::concurrent
