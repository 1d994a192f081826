// When memory that was taken out of a shared structure may be freed: once every
// thread that could still look at it has left.
//
// A thread enters before it reads shared pointers, and leaves when it holds
// none any more. What is retired in epoch e is freed in epoch e + 2, and the
// epoch moves on only when all that are inside entered in the present one. A
// thread that stays inside for ever keeps memory, but blocks nobody.
//
// Where: Fraser, "Practical lock-freedom", 2004.
//
// Threads: one EpochMember each; an Epochs outlives its members.
// Errors: Error(kExhausted) where one member more than `most_members` joins.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"

namespace weft::concurrent {

// Memory, and how to free it.
struct Retired {
  void* object = nullptr;
  void (*destroy)(void*) = nullptr;
  std::uint64_t epoch = 0;
};

template <Memory M>
class EpochMember;

template <Memory M>
class Epochs {
 public:
  explicit Epochs(std::uint32_t most_members) : inside_(most_members) {
    for (std::uint32_t i = most_members; i > 0; --i) unused_.push_back(i - 1);
  }
  Epochs(const Epochs&) = delete;
  Epochs& operator=(const Epochs&) = delete;
  ~Epochs() {
    for (const Retired& retired : orphans_) retired.destroy(retired.object);
  }

  // The present epoch.
  std::uint64_t now() const { return epoch_->load(std::memory_order_acquire); }

  // How many numbers of members were ever given out.
  std::uint32_t members() const {
    return members_.load(std::memory_order_relaxed);
  }

  // Looks at each member once: some may enter or leave meanwhile.
  bool is_anybody_inside() const {
    const std::uint32_t members = members_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < members; ++i)
      if (inside_[i]->load() != 0) return true;
    return false;
  }

  // Moves on where nobody is left behind.
  void advance() {
    std::uint64_t now = epoch_->load();
    const std::uint32_t members = members_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < members; ++i) {
      const std::uint64_t inside = inside_[i]->load();
      if (inside != 0 && inside != now + 1) return;
    }
    epoch_->compare_exchange_strong(now, now + 1);
  }

 private:
  friend class EpochMember<M>;
  using Atomic = typename M::template Atomic<std::uint64_t>;

  std::uint32_t join() {
    const std::lock_guard lock(guard_);
    if (unused_.empty())
      throw Error(ErrorCode::kExhausted, "Epochs",
                  "there are {} threads already", inside_.size());
    const std::uint32_t number = unused_.back();
    unused_.pop_back();
    if (number >= members_.load(std::memory_order_relaxed))
      members_.store(number + 1, std::memory_order_release);
    return number;
  }

  void quit(std::uint32_t number, const std::vector<Retired>& left_over) {
    const std::lock_guard lock(guard_);
    unused_.push_back(number);
    orphans_.insert(orphans_.end(), left_over.begin(), left_over.end());
  }

  CacheAligned<Atomic> epoch_;
  std::vector<CacheAligned<Atomic>> inside_;  // 1 + the epoch entered in, or 0
  std::atomic<std::uint32_t> members_ = 0;    // that ever were
  std::mutex guard_;                          // of what follows
  std::vector<std::uint32_t> unused_;
  std::vector<Retired> orphans_;  // of members that have quit
};

template <Memory M>
class EpochMember {
 public:
  explicit EpochMember(Epochs<M>& epochs)
      : epochs_(epochs), number_(epochs.join()) {}
  EpochMember(const EpochMember&) = delete;
  EpochMember& operator=(const EpochMember&) = delete;
  ~EpochMember() { epochs_.quit(number_, retired_); }

  // The store must be seen before anything is read: sequentially consistent.
  // That the epoch may have moved on since it was loaded does no harm: this
  // thread then only holds the others up.
  void enter() { inside().store(epochs_.now() + 1); }
  void leave() { inside().store(0, std::memory_order_release); }

  std::uint32_t number() const { return number_; }

  // Makes room, so that the next `count` retirements cannot fail.
  void reserve(std::size_t count) {
    if (retired_.capacity() - retired_.size() < count)
      retired_.reserve(2 * retired_.size() + count);
  }

  // Takes the object over, to free it later: here, in another member's call, or
  // with the Epochs. Is called from outside, after the last pointer to it is
  // gone.
  void retire(const Retired& retired) {
    retired_.push_back(retired);
    retired_.back().epoch = epochs_.epoch_->load();
    if (retired_.size() >= tidy_at_) tidy();
  }

 private:
  static constexpr std::size_t kBatch = 64;

  auto& inside() { return *epochs_.inside_[number_]; }

  // Frees what is old enough. Epochs never fall along the list.
  void tidy() {
    epochs_.advance();
    const std::uint64_t now = epochs_.now();
    const auto first_young = std::find_if(
        retired_.begin(), retired_.end(),
        [&](const Retired& retired) { return retired.epoch + 2 > now; });
    for (auto old = retired_.begin(); old != first_young; ++old)
      old->destroy(old->object);
    retired_.erase(retired_.begin(), first_young);
    tidy_at_ = retired_.size() + kBatch;
  }

  Epochs<M>& epochs_;
  std::uint32_t number_;
  std::vector<Retired> retired_;  // the oldest first
  std::size_t tidy_at_ = kBatch;
};

}  // namespace weft::concurrent
