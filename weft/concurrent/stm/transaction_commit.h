// How a transaction begins, commits and aborts.
#pragma once

#include "weft/concurrent/stm/transaction_class.h"

namespace weft::concurrent {

template <Memory M>
Transaction<M>::Transaction(Stm<M>& stm, EpochMember<M>& epoch,
                            FastRandom& random)
    : stm_(stm),
      epoch_(epoch),
      random_(random),
      is_encounter_(stm.options().locking == Locking::kEncounterTime),
      has_policy_(stm.options().policy != nullptr),
      is_clock_exact_(stm.clock().is_exact()),
      is_safe_(stm.options().validation == Validation::kSafe),
      beside_hardware_(stm.uses_hardware()),
      software_(stm.software()),
      version_source_(stm.clock().version_source(random)) {}

template <Memory M>
Transaction<M>::~Transaction() {
  if (own_ != nullptr) stm_.owners().retire(*own_, stm_.epochs().now());
}

// Where too many owners were killed, and none has been dead for long enough.
template <Memory M>
bool Transaction<M>::must_run_alone() {
  if (own_ == nullptr) {
    for (int i = 0; i < 2; ++i) stm_.epochs().advance();
    own_ = stm_.owners().take(stm_.epochs().now());
  }
  return own_ == nullptr;
}

template <Memory M>
void Transaction<M>::begin(bool only_reads, bool is_serial, int aborts) {
  is_serial_ = is_serial;
  is_doomed_ = false;
  newest_met_ = 0;
  keeps_reads_ = !only_reads || (is_safe_ && !is_clock_exact_);
  aborts_ = aborts;
  owner_ = is_serial ? &stm_.owners().alone() : own_;
  attempt_ =
      OwnerStatus::attempt(owner_->status.load(std::memory_order_relaxed)) + 1;
  if (has_policy_) {
    began_ns_ = M::nanoseconds();
    owner_->began_ns.store(began_ns_, std::memory_order_relaxed);
    owner_->aborts.store(static_cast<std::uint64_t>(aborts),
                         std::memory_order_relaxed);
  }
  // Who runs alone cannot be killed.
  if (is_serial || is_encounter_)
    owner_->status.store(
        OwnerStatus::make(attempt_, is_serial ? OwnerState::kCommitting
                                              : OwnerState::kActive),
        std::memory_order_release);
  epoch_.enter();
  if (beside_hardware_) software_.announce();
  mode_ = only_reads ? Mode::kReads : Mode::kWrites;
  began_ = stm_.clock().now(random_);
}

template <Memory M>
void Transaction<M>::commit() {
  if (is_doomed_) throw Retry{};  // the body has caught what fail() threw
  if (writes_.empty()) {
    if (is_safe_ && !is_clock_exact_) validate();
  } else {
    if (!is_serial_) announce_commit();
    for (const auto& entry : writes_) acquire(*entry.lock);
    std::uint64_t newest_held = 0;
    for (const Held& held : held_)
      newest_held = std::max(newest_held, held.version);
    const Tick tick = stm_.clock().next(random_, began_, newest_held);
    if (tick.version > LockWord::kMostVersion)
      throw Error(ErrorCode::kExhausted, "Transaction",
                  "version {} is above {}", tick.version,
                  LockWord::kMostVersion);
    // Transactions in hardware draw no version that the clock would know of.
    if (!tick.is_alone || beside_hardware_) validate();
    publish(tick.version);
  }
  end_attempt();
  if (has_policy_) {
    const auto took = static_cast<double>(M::nanoseconds() - began_ns_);
    mean_ns_ = mean_ns_ != mean_ns_ ? took : mean_ns_ + (took - mean_ns_) / 16;
  }
  reads_.clear();
  writes_.clear();
  keep_memory();
}

// From here on nobody may kill this transaction, and one that runs alone waits
// for its end.
template <Memory M>
void Transaction<M>::announce_commit() {
  const std::uint64_t committing =
      OwnerStatus::make(attempt_, OwnerState::kCommitting);
  if (is_encounter_) {
    std::uint64_t active = OwnerStatus::make(attempt_, OwnerState::kActive);
    if (!owner_->status.compare_exchange_strong(active, committing))
      fail(AbortCause::kKilled);
  } else {
    owner_->status.store(committing);
  }
  if (stm_.is_serial()) fail(AbortCause::kSerial);
}

template <Memory M>
void Transaction<M>::acquire(Lock& lock) {
  // Room first: nothing may fail once the lock is held.
  if (held_.size() == held_.capacity()) held_.reserve(2 * held_.size() + 8);
  for (;;) {
    std::uint64_t word = lock.load(std::memory_order_acquire);
    if (is_mine(word)) return;
    if (is_foreign(word)) {
      resolve(lock, word);
      continue;
    }
    const std::uint64_t version = LockWord::version(word);
    if (lock.compare_exchange_strong(word,
                                     LockWord::held(version, owner_->number),
                                     std::memory_order_acq_rel)) {
      held_.push_back({&lock, version});
      return;
    }
  }
}

template <Memory M>
void Transaction<M>::validate() {
  for (const Read& read : reads_) {
    const std::uint64_t word = read.lock->load(std::memory_order_acquire);
    if (is_foreign(word)) fail(AbortCause::kLocked);
    const std::uint64_t version = LockWord::version(word);
    if (is_safe_ ? version != read.version : version > began_)
      fail(AbortCause::kChanged, version);
  }
}

template <Memory M>
bool Transaction<M>::is_consistent() const {
  return std::all_of(reads_.begin(), reads_.end(), [&](const Read& read) {
    const std::uint64_t word = read.lock->load(std::memory_order_acquire);
    return !is_foreign(word) && LockWord::version(word) == read.version;
  });
}

template <Memory M>
void Transaction<M>::publish(std::uint64_t version) {
  for (const auto& entry : writes_)
    entry.word->store(entry.value, std::memory_order_release);
  for (const Held& held : held_)
    held.lock->store(LockWord::free(version), std::memory_order_release);
  held_.clear();
}

template <Memory M>
void Transaction<M>::abort() {
  release_locks();
  end_attempt();
  stm_.clock().aborted(random_, newest_met_, aborts_ + 1);
  reads_.clear();
  writes_.clear();
  undo_memory();
}

template <Memory M>
void Transaction<M>::release_locks() {
  for (const Held& held : held_) {
    const std::uint64_t free = LockWord::free(held.version);
    // Others may have released it after a kill, and taken it since.
    std::uint64_t mine = LockWord::held(held.version, owner_->number);
    if (is_encounter_)
      held.lock->compare_exchange_strong(mine, free, std::memory_order_acq_rel);
    else
      held.lock->store(free, std::memory_order_release);
  }
  held_.clear();
}

// The locks are gone; a kill that comes yet does no harm, but costs the number.
template <Memory M>
void Transaction<M>::end_attempt() {
  std::uint64_t status = owner_->status.load(std::memory_order_relaxed);
  const std::uint64_t idle = OwnerStatus::make(attempt_, OwnerState::kIdle);
  if (OwnerStatus::state(status) == OwnerState::kCommitting)
    owner_->status.store(idle, std::memory_order_release);
  else if (OwnerStatus::state(status) == OwnerState::kActive)
    owner_->status.compare_exchange_strong(status, idle);
  mode_ = Mode::kIdle;
  epoch_.leave();
  if (OwnerStatus::state(status) != OwnerState::kAborted) return;
  stm_.owners().retire(*own_, stm_.epochs().now());
  own_ = nullptr;
}

// This comes after a commit.
template <Memory M>
void Transaction<M>::keep_memory() {
  for (const Retired& destroyed : destroyed_) epoch_.retire(destroyed);
  destroyed_.clear();
  created_.clear();
  leaves_work_ = false;
}

template <Memory M>
void Transaction<M>::undo_memory() {
  for (const Retired& created : created_)
    if (created.object != nullptr) created.destroy(created.object);
  created_.clear();
  destroyed_.clear();
  leaves_work_ = false;
}

}  // namespace weft::concurrent
