// What a transaction does about a lock that another one holds.
#pragma once

#include "weft/concurrent/stm/transaction_class.h"

namespace weft::concurrent {

// Returns when the lock is worth another look; fails where this transaction
// gives up.
template <Memory M>
void Transaction<M>::resolve(Lock& lock, std::uint64_t seen) {
  Owner<M>& owner = stm_.owners()[LockWord::owner(seen)];
  const std::uint64_t status = owner.status.load();
  // Loaded again after the status: if the lock is still the same, then it
  // belongs to the attempt that the status names, or to a later one; and a
  // later one cannot be killed by the name of this.
  if (lock.load() != seen) return;
  if (OwnerStatus::state(status) == OwnerState::kAborted)
    return release_dead(lock, seen);
  if (is_serial_) return resolve_alone(lock, owner, seen, status);
  if (has_policy_) return ask_policy(lock, owner, seen, status);
  spin(lock, seen);
}

// Nobody else commits: owners that are still about to will find that out, and
// all others can be killed.
template <Memory M>
void Transaction<M>::resolve_alone(Lock& lock, Owner<M>& owner,
                                   std::uint64_t seen, std::uint64_t status) {
  if (OwnerStatus::state(status) == OwnerState::kActive &&
      owner.status.compare_exchange_strong(
          status, OwnerStatus::make(OwnerStatus::attempt(status),
                                    OwnerState::kAborted)))
    return release_dead(lock, seen);
  for (Backoff<M> backoff;
       lock.load() == seen && owner.status.load() == status;)
    backoff();
}

// TL2's own rule: look a number of times, then abort. It does not pay where the
// word was also read: when the owner has committed, the read is void.
template <Memory M>
void Transaction<M>::spin(Lock& lock, std::uint64_t seen) {
  if (has_read(lock)) fail(AbortCause::kLocked);
  for (int i = 0; i < stm_.options().lock_spins; ++i) {
    if (lock.load(std::memory_order_acquire) != seen) return;
    M::pause();
  }
  fail(AbortCause::kLocked);
}

template <Memory M>
void Transaction<M>::ask_policy(Lock& lock, Owner<M>& owner, std::uint64_t seen,
                                std::uint64_t status) {
  const auto since = [now = M::nanoseconds()](std::uint64_t began) {
    return now > began ? static_cast<double>(now - began) : 0.0;
  };
  const bool can_kill = OwnerStatus::state(status) == OwnerState::kActive;
  const std::uint64_t waiters = owner.waiters.fetch_add(1) + 1;
  const Decision decision = stm_.options().policy->decide(
      {.self_cost_ns = since(began_ns_),
       .owner_cost_ns = since(owner.began_ns.load(std::memory_order_relaxed)),
       .chain = static_cast<int>(waiters) + 1,
       .mean_remaining_ns = mean_ns_ / 2,
       .can_kill_owner = can_kill,
       .aborts = can_kill ? static_cast<int>(
                                owner.aborts.load(std::memory_order_relaxed))
                          : aborts_},
      random_);
  const bool has_changed = wait(lock, owner, seen, status, decision.delay_ns);
  owner.waiters.fetch_sub(1);
  if (is_encounter_) check_alive();
  if (has_changed) return;
  if (decision.after == AfterDelay::kAbortSelf || !can_kill)
    fail(AbortCause::kLocked);
  if (owner.status.compare_exchange_strong(
          status, OwnerStatus::make(OwnerStatus::attempt(status),
                                    OwnerState::kAborted)))
    release_dead(lock, seen);
}

// Waits until the lock or its owner's state changes, this transaction is
// killed, or the time is over. True where the first happened. All waits end, so
// no circle of waiting transactions lasts.
template <Memory M>
bool Transaction<M>::wait(Lock& lock, Owner<M>& owner, std::uint64_t seen,
                          std::uint64_t status, double delay_ns) {
  const std::uint64_t began = M::nanoseconds();
  for (Backoff<M> backoff;;) {
    if (lock.load() != seen || owner.status.load() != status) return true;
    if (static_cast<double>(M::nanoseconds() - began) >= delay_ns) return false;
    if (is_encounter_ &&
        OwnerStatus::state(owner_->status.load()) == OwnerState::kAborted)
      return false;
    backoff();
  }
}

// Values wait for the commit, so a dead owner has changed nothing: its lock
// goes back to the version that it had. If another thread was faster, the word
// is not the same any more, and it cannot come back while we are inside our
// epoch: the dead owner's number is not used again.
template <Memory M>
void Transaction<M>::release_dead(Lock& lock, std::uint64_t seen) {
  const std::uint64_t free = LockWord::free(LockWord::version(seen));
  lock.compare_exchange_strong(seen, free);
}

template <Memory M>
bool Transaction<M>::has_read(const Lock& lock) const {
  return std::any_of(reads_.begin(), reads_.end(),
                     [&](const Read& read) { return read.lock == &lock; });
}

// A transaction that is committing or alone passes: its status says so.
template <Memory M>
void Transaction<M>::check_alive() {
  if (OwnerStatus::state(owner_->status.load(std::memory_order_acquire)) ==
      OwnerState::kAborted)
    fail(AbortCause::kKilled);
}

}  // namespace weft::concurrent
