// A thread's way into an Stm: runs transactions, again where they abort.
//
//   Session<> session(stm);
//   long sum = session.read([&](Transaction<>& t) {
//     return t.read(a) + t.read(b);
//   });
//
// A body that is trivially copyable and can be called as a constant may be
// copied. A run within a run is part of it. What the body throws aborts the
// transaction and is passed on; but where what it had read did not hold any
// more, it runs again instead.
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
  std::uint64_t hardware = 0;                          // of these, in hardware
  std::array<std::uint64_t, kAbortCauses> by_cause{};  // aborts, by AbortCause
  std::uint64_t hardware_aborts = 0;                   // not among those

  std::uint64_t aborts() const {
    return std::accumulate(by_cause.begin(), by_cause.end(), std::uint64_t{0});
  }
  std::uint64_t aborts(AbortCause cause) const {
    return by_cause[static_cast<std::size_t>(cause)];
  }
};

// Whether to try hardware, by what came of it.
class HardwareTrust {
 public:
  explicit HardwareTrust(bool has_hardware)
      : rest_(has_hardware ? 0 : kNever) {}

  // It is asked once for each transaction.
  bool tries() {
    if (rest_ == 0) [[likely]]
      return true;
    if (rest_ != kNever) --rest_;
    return false;
  }

  // At what hardware cannot do, when it has committed so much. Twice in a row,
  // and it is left alone for some transactions; for longer if it fails again.
  void failed(std::uint64_t commits) {
    if (commits != commits_) failures_ = 0;
    commits_ = commits;
    failures_ = std::min(failures_ + 1, kMostDoublings);
    if (failures_ > 1) rest_ = 1U << static_cast<unsigned>(failures_);
  }

 private:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  static constexpr int kMostDoublings = 8;
  std::uint32_t rest_;         // transactions
  int failures_ = 0;           // in a row
  std::uint64_t commits_ = 0;  // at the last of them
};

template <Memory M = RealMemory>
class Session {
 public:
  // Sessions of one Stm differ in `thread`, so that their random numbers do.
  explicit Session(Stm<M>& stm, std::uint64_t thread = 0)
      : stm_(stm),
        random_(stm.options().seed, thread),
        epoch_(stm.epochs()),
        transaction_(stm, epoch_, random_),
        trust_(stm.uses_hardware()) {}

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

  StmCounts counts() const {
    StmCounts counts = counts_;
    counts.commits += counts.hardware;
    return counts;
  }
  FastRandom& random() { return random_; }

 private:
  using Retry = typename Transaction<M>::Retry;

  template <class Body>
  using ResultOf = std::invoke_result_t<Body&, Transaction<M>&>;

  // A body that may be copied is: what one that lies in memory has captured
  // would be loaded anew behind xbegin, where nothing hides that.
  template <class Body>
  using Passed =
      std::conditional_t<std::is_trivially_copyable_v<Body> &&
                             std::is_invocable_v<const Body&, Transaction<M>&>,
                         Body, Body&>;

  template <class Body>
  ResultOf<Body> repeat(Body& body, bool only_reads) {
    if (transaction_.is_running()) return run_within<Body>(body);
    if constexpr (HasHardware<M>) {
      if (!trust_.tries()) return repeat_in_software<Body>(body, only_reads);
      if constexpr (std::is_void_v<ResultOf<Body>>) {
        if (commit_in_hardware(Attempt<Body>{transaction_, body, only_reads}))
          return;
      } else {
        std::optional<ResultOf<Body>> result;
        const auto keep = [&](Transaction<M>& t) { result.emplace(body(t)); };
        if (commit_in_hardware(
                Attempt<decltype(keep)>{transaction_, keep, only_reads}))
          return *std::move(result);
      }
    }
    return repeat_in_software<Body>(body, only_reads);
  }

  // This is an attempt in hardware.
  template <class Body>
  struct Attempt {
    Transaction<M>& transaction;
    Passed<Body> body;
    bool only_reads;
    void operator()() {
      transaction.begin_in_hardware(only_reads);
      body(transaction);
    }
  };

  template <class Body>
  bool commit_in_hardware(Attempt<Body> attempt) {
    using Hardware = typename M::Hardware;
    for (int failures = 0;;) {
      const HardwareOutcome outcome = Hardware::attempt(attempt);
      if (outcome == HardwareOutcome::kCommitted) break;
      if (!may_try_again(outcome, ++failures)) {
        transaction_.leave_hardware(false);
        return false;
      }
    }
    transaction_.leave_hardware(true);
    ++counts_.hardware;
    return true;
  }

  bool may_try_again(HardwareOutcome outcome, int failures) {
    ++counts_.hardware_aborts;
    if (outcome == HardwareOutcome::kCannot ||
        outcome == HardwareOutcome::kThrown) {
      trust_.failed(counts_.hardware);
      return false;
    }
    if (failures >= stm_.options().hardware_attempts) return false;
    if (outcome == HardwareOutcome::kAlone) stm_.wait_while_serial();
    const std::uint32_t window =
        1U << static_cast<unsigned>(std::min(failures, kMostDoublings));
    for (std::uint32_t i = random_.below(window); i > 0; --i) M::pause();
    return true;
  }

  // Out of line: the way through hardware is to stay short.
  template <class Body>
  [[gnu::noinline]] ResultOf<Body> run_within(Passed<Body> body) {
    return body(transaction_);
  }
  template <class Body>
  [[gnu::noinline]] ResultOf<Body> repeat_in_software(Passed<Body> body,
                                                      bool only_reads) {
    leave_outer_hardware();
    if constexpr (std::is_void_v<ResultOf<Body>>) {
      repeat_until_committed([&] { body(transaction_); }, only_reads);
    } else {
      std::optional<ResultOf<Body>> result;
      repeat_until_committed([&] { result.emplace(body(transaction_)); },
                             only_reads);
      return *std::move(result);
    }
  }

  // That of another session of this thread. What runs in hardware within it is
  // a part of it, but what runs in software must be seen at once.
  void leave_outer_hardware() {
    if constexpr (HasHardware<M>) {
      using Hardware = typename M::Hardware;
      if (stm_.uses_hardware() && Hardware::is_inside())
        Hardware::template abort<HardwareOutcome::kCannot>();
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
    } catch (const Retry&) {  // it begins again
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
  HardwareTrust trust_;
  StmCounts counts_;  // with `commits` in software alone
};

}  // namespace weft::concurrent
