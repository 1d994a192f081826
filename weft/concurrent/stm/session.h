// A thread's way into an Stm: runs transactions, again where they abort.
//
//   Session<> session(stm);
//   long sum = session.read([&](Transaction<>& t) {
//     return t.read(a) + t.read(b);
//   });
//
// A run within a run is part of it. What the body throws aborts the transaction
// and is passed on; but where what it had read did not hold any more, it runs
// again instead.
//
// Between attempts a session waits: not at all for the first three, then for a
// random time from a window that doubles (Dice and others' rule is flat, and
// does not disperse more than a few threads), at last giving the core away.
//
// Threads: one. Errors: see stm.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <numeric>
#include <optional>
#include <type_traits>

#include "weft/concurrent/stm/transaction.h"

namespace weft::concurrent {

struct StmCounts {
  std::uint64_t commits = 0;
  std::uint64_t serial = 0;                            // of these, alone
  std::array<std::uint64_t, kAbortCauses> by_cause{};  // aborts, by AbortCause

  std::uint64_t aborts() const {
    return std::accumulate(by_cause.begin(), by_cause.end(), std::uint64_t{0});
  }
  std::uint64_t aborts(AbortCause cause) const {
    return by_cause[static_cast<std::size_t>(cause)];
  }
};

template <Memory M = RealMemory>
class Session {
 public:
  // Sessions of one Stm differ in `thread`, so that their random numbers do.
  explicit Session(Stm<M>& stm, std::uint64_t thread = 0)
      : stm_(stm),
        random_(stm.options().seed, thread),
        epoch_(stm.epochs()),
        transaction_(stm, epoch_, random_) {}

  // Returns what the body returns.
  template <class Body>
  auto run(Body&& body) {
    return repeat(body, false);
  }
  // The same for a body that writes nothing: with an exact clock it keeps no
  // list of what it has read, and cannot fail once the body has ended.
  template <class Body>
  auto read(Body&& body) {
    return repeat(body, true);
  }

  const StmCounts& counts() const { return counts_; }
  FastRandom& random() { return random_; }

 private:
  using Retry = typename Transaction<M>::Retry;

  template <class Body>
  auto repeat(Body& body, bool only_reads) {
    using Result = std::invoke_result_t<Body&, Transaction<M>&>;
    if (transaction_.is_running_) return body(transaction_);
    if constexpr (std::is_void_v<Result>) {
      repeat_until_committed([&] { body(transaction_); }, only_reads);
    } else {
      std::optional<Result> result;
      repeat_until_committed([&] { result.emplace(body(transaction_)); },
                             only_reads);
      return *std::move(result);
    }
  }

  template <class Attempt>
  void repeat_until_committed(const Attempt& attempt, bool only_reads) {
    for (int aborts = 0;; ++aborts) {
      const bool is_serial = transaction_.must_run_alone() ||
                             aborts >= stm_.options().retries_before_serial;
      if (is_serial)
        stm_.enter_serial();
      else
        stm_.wait_while_serial();
      const Outcome outcome =
          attempt_once(attempt, only_reads, is_serial, aborts);
      if (is_serial) stm_.leave_serial();
      if (outcome.failure) std::rethrow_exception(outcome.failure);
      if (outcome.has_committed) {
        ++counts_.commits;
        counts_.serial += is_serial ? 1 : 0;
        return;
      }
      ++counts_.by_cause[static_cast<std::size_t>(transaction_.cause_)];
      stall(aborts);
    }
  }

  struct Outcome {
    bool has_committed = false;
    std::exception_ptr failure = nullptr;  // of the body
  };

  // No shared word is touched inside of a handler: a simulated memory may
  // switch to another fiber there, and handlers of one thread must end in the
  // order opposite to that of their beginnings.
  template <class Attempt>
  Outcome attempt_once(const Attempt& attempt, bool only_reads, bool is_serial,
                       int aborts) {
    Outcome outcome;
    transaction_.begin(only_reads, is_serial, aborts);
    try {
      attempt();
      transaction_.commit();
      outcome.has_committed = true;
    } catch (const Retry&) {
    } catch (...) {
      outcome.failure = std::current_exception();
    }
    if (outcome.has_committed) return outcome;
    if (outcome.failure && !is_serial &&
        (transaction_.is_doomed_ || !transaction_.is_consistent())) {
      outcome.failure = nullptr;
      if (!transaction_.is_doomed_) transaction_.cause_ = AbortCause::kChanged;
    }
    transaction_.abort();
    return outcome;
  }

  void stall(int aborts) {
    // With a relaxed clock it is the next attempt that lets time pass.
    const bool is_early =
        transaction_.cause_ == AbortCause::kTooNew && !stm_.clock().is_exact();
    if (aborts < kFreeRetries || is_early) return;
    const int doublings = std::min(aborts - kFreeRetries, kMostDoublings);
    const std::uint32_t pauses = random_.below(kFirstWindow << doublings);
    for (std::uint32_t i = 0; i < pauses; ++i) M::pause();
    if (aborts >= kYieldAfter) M::yield();
  }

  static constexpr int kFreeRetries = 3;
  static constexpr int kYieldAfter = 6;
  static constexpr int kMostDoublings = 7;
  static constexpr std::uint32_t kFirstWindow = 16;  // pauses

  Stm<M>& stm_;
  FastRandom random_;
  EpochMember<M> epoch_;
  Transaction<M> transaction_;
  StmCounts counts_;
};

}  // namespace weft::concurrent
