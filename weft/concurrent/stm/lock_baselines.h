// Transactions by locks, which an Stm is measured against: one lock for
// everything, and that of each LockedCell, taken at the first access and kept
// to the end (two-phase locking). Both have the interface of Stm and Session as
// far as cells go, so that one body runs on all three.
//
//   GlobalLock<> lock;
//   GlobalLockSession<> session(lock);      // or TwoPhaseSession<>(thread)
//   session.run([&](auto& t) { t.write(cell, t.read(cell) + 1); });
//
// Values are written at once; a list of what was there before undoes them where
// the body throws. Under two-phase locking a transaction that finds a lock
// taken tries for a while, then gives all its own back, waits and begins again:
// so circles of waiting ones do not last.
//
// Where: Eswaran, Gray, Lorie, Traiger, "The notions of consistency and
// predicate locks in a database system", CACM 1976.
//
// Threads: one session each. A run within a run is not supported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <vector>

#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/random.h"
#include "weft/concurrent/stm/cell.h"

namespace weft::concurrent {

// What a transaction has overwritten, to be put back.
template <Memory M>
class UndoList {
 public:
  void write(Word<M>& word, std::uint64_t value) {
    overwritten_.push_back({&word, word.load(std::memory_order_relaxed)});
    word.store(value, std::memory_order_relaxed);
  }
  void undo() {
    while (!overwritten_.empty()) {
      const auto [word, value] = overwritten_.back();
      word->store(value, std::memory_order_relaxed);
      overwritten_.pop_back();
    }
  }
  void forget() { overwritten_.clear(); }

 private:
  struct Overwritten {
    Word<M>* word;
    std::uint64_t value;
  };
  std::vector<Overwritten> overwritten_;
};

template <Memory M = RealMemory>
class GlobalLock {
 public:
  void lock() {
    for (Backoff<M> backoff; held_->load(std::memory_order_relaxed) != 0 ||
                             held_->exchange(1) != 0;)
      backoff();
  }
  void unlock() { held_->store(0, std::memory_order_release); }

 private:
  CacheAligned<Word<M>> held_;
};

template <Memory M = RealMemory>
class GlobalLockSession {
 public:
  explicit GlobalLockSession(GlobalLock<M>& lock) : lock_(lock) {}

  template <class T>
  T read(const Cell<T, M>& cell) const {
    return from_word<T>(cell.word().load(std::memory_order_relaxed));
  }
  template <class T>
  void write(Cell<T, M>& cell, std::type_identity_t<T> value) {
    undo_.write(cell.word(), to_word(value));
  }

  template <class Body>
  void run(Body&& body) {
    std::exception_ptr failure;
    lock_.lock();
    try {
      body(*this);
    } catch (...) {
      failure = std::current_exception();
    }
    // Outside of the handler, as in session.h, and before anybody else may
    // look.
    if (failure) undo_.undo();
    undo_.forget();
    lock_.unlock();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  GlobalLock<M>& lock_;
  UndoList<M> undo_;
};

// The locks are those of the cells: 0, or 1 + the number of the session.
template <Memory M = RealMemory>
class TwoPhaseSession {
 public:
  explicit TwoPhaseSession(std::uint64_t thread)
      : mine_(thread + 1), random_(1, thread) {}

  template <class T>
  T read(const LockedCell<T, M>& cell) {
    acquire(cell.lock());
    return from_word<T>(cell.word().load(std::memory_order_relaxed));
  }
  template <class T>
  void write(LockedCell<T, M>& cell, std::type_identity_t<T> value) {
    acquire(cell.lock());
    undo_.write(cell.word(), to_word(value));
  }

  template <class Body>
  void run(Body&& body) {
    for (int aborts = 0;; ++aborts) {
      bool is_blocked = false;
      std::exception_ptr failure;
      try {
        body(*this);
      } catch (const Blocked&) {
        is_blocked = true;
      } catch (...) {
        failure = std::current_exception();
      }
      if (is_blocked || failure) undo_.undo();
      undo_.forget();
      release();
      if (failure) std::rethrow_exception(failure);
      if (!is_blocked) return;
      ++aborts_;
      const auto window = 16U << std::min(aborts, 8);
      for (std::uint32_t i = random_.below(window); i > 0; --i) M::pause();
      if (aborts > 3) M::yield();
    }
  }

  std::uint64_t aborts() const { return aborts_; }

 private:
  struct Blocked {};
  static constexpr int kTries = 1000;

  void acquire(Word<M>& lock) {
    if (lock.load(std::memory_order_relaxed) == mine_) return;
    if (held_.size() == held_.capacity()) held_.reserve(2 * held_.size() + 8);
    for (int i = 0; i < kTries; ++i) {
      std::uint64_t free = 0;
      if (lock.load(std::memory_order_relaxed) == 0 &&
          lock.compare_exchange_strong(free, mine_,
                                       std::memory_order_acq_rel)) {
        held_.push_back(&lock);
        return;
      }
      M::pause();
    }
    throw Blocked{};
  }

  void release() {
    for (Word<M>* lock : held_) lock->store(0, std::memory_order_release);
    held_.clear();
  }

  std::uint64_t mine_;
  FastRandom random_;
  UndoList<M> undo_;
  std::vector<Word<M>*> held_;
  std::uint64_t aborts_ = 0;
};

}  // namespace weft::concurrent
