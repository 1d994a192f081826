// Who may hold locks: what others see of a running transaction.
//
// A lock names its owner by number. The owner's status says which of its
// attempts it is at, and in which state. A transaction that holds locks while
// it runs (encounter-time locking) is Active, and whoever needs one of them may
// kill it by setting Aborted; when it commits it sets Committing, and is safe
// from then on. One of the two wins, since both are a compare-exchange of the
// same word.
//
// The locks of a killed owner may be released by anybody, so that one who was
// killed while it had no core blocks nobody. Until all threads that may have
// seen it so have left their epoch, its number is not used again: otherwise one
// of them might take a lock of the next attempt for one of the dead. Number 0
// belongs to the transaction that runs alone, and is never killed.
//
// Threads: all at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/stm/lock_table.h"

namespace weft::concurrent {

enum class OwnerState : std::uint8_t { kIdle, kActive, kCommitting, kAborted };

struct OwnerStatus {
  static std::uint64_t make(std::uint64_t attempt, OwnerState state) {
    return attempt << 2U | static_cast<std::uint64_t>(state);
  }
  static OwnerState state(std::uint64_t status) {
    return static_cast<OwnerState>(status & 3U);
  }
  static std::uint64_t attempt(std::uint64_t status) { return status >> 2U; }
};

template <Memory M>
struct alignas(kCacheLine) Owner {
  explicit Owner(std::uint32_t its_number) : number(its_number) {}

  Word<M> status;
  Word<M> waiters;   // that wait for a lock of this owner
  Word<M> began_ns;  // its attempt; kept for contention policies only
  Word<M> aborts;    // since its last commit
  std::uint32_t number;
};

template <Memory M>
class OwnerTable {
 public:
  OwnerTable() : owners_(LockWord::kMostOwners) { make(); }

  // The transaction that runs alone is this owner.
  Owner<M>& alone() { return *owners_[0]; }

  // One that nobody has seen dead; null where there is none. `epoch` is the
  // present one.
  Owner<M>* take(std::uint64_t epoch) {
    const std::lock_guard lock(guard_);
    if (retired_.empty() || retired_.front().epoch + 2 > epoch) return make();
    Owner<M>* owner = retired_.front().owner;
    retired_.pop_front();
    return owner;
  }
  void retire(Owner<M>& owner, std::uint64_t epoch) {
    const std::lock_guard lock(guard_);
    retired_.push_back({&owner, epoch});
  }

  // The owner whose number was read from a lock.
  Owner<M>& operator[](std::uint32_t number) { return *owners_[number]; }
  std::uint32_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  struct RetiredOwner {
    Owner<M>* owner;
    std::uint64_t epoch;
  };

  Owner<M>* make() {
    const std::uint32_t number = count_.load(std::memory_order_relaxed);
    if (number == LockWord::kMostOwners) return nullptr;
    owners_[number] = std::make_unique<Owner<M>>(number);
    // Who sees the count sees the owner.
    count_.store(number + 1, std::memory_order_release);
    return owners_[number].get();
  }

  std::vector<std::unique_ptr<Owner<M>>> owners_;
  std::atomic<std::uint32_t> count_ = 0;
  std::mutex guard_;
  std::deque<RetiredOwner> retired_;  // the longest retired first
};

}  // namespace weft::concurrent
