// One transaction: what it has read and will write. Its parts, in files of
// their own, say how it commits; users of transactions include transaction.h,
// which has them all.
//
// Threads: that of its session.
// Errors: a read or a write that meets a conflict leaves the body by an
// exception of the library's own, after which the session runs it again. A
// write throws Error(kInvalidArgument) in a transaction that only reads, and a
// commit Error(kExhausted) when versions run out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/concurrent/stm/cell.h"
#include "weft/concurrent/stm/stm.h"
#include "weft/concurrent/stm/write_set.h"

namespace weft::concurrent {

enum class AbortCause : std::uint8_t {
  kLocked,   // another transaction holds a lock
  kTooNew,   // a word was written after this transaction began
  kChanged,  // a word changed while or after it was read
  kKilled,   // another transaction needed a lock
  kSerial,   // a transaction that runs alone came first
};
inline constexpr int kAbortCauses = 5;

template <Memory M>
class Session;

template <Memory M = RealMemory>
class Transaction {
 public:
  template <class T>
  T read(const Cell<T, M>& cell) {
    return from_word<T>(read_word(cell));
  }
  template <class T>
  T read(const LockedCell<T, M>& cell) {
    return from_word<T>(read_word(cell));
  }

  template <class T>
  void write(Cell<T, M>& cell, std::type_identity_t<T> value) {
    write_word(cell, to_word(value));
  }
  template <class T>
  void write(LockedCell<T, M>& cell, std::type_identity_t<T> value) {
    write_word(cell, to_word(value));
  }

  // An object that goes again if the transaction aborts.
  template <class T, class... Args>
  T* create(Args&&... args) {
    leaves_work_ = true;
    created_.push_back({});  // room first: nothing may fail after `new`
    T* object = nullptr;
    try {
      object = new T(std::forward<Args>(args)...);
    } catch (...) {
      created_.pop_back();
      throw;
    }
    created_.back() = {object, [](void* it) { delete static_cast<T*>(it); }};
    return object;
  }

  // Once the transaction has committed, and nobody can see the object any more.
  // It must have been unlinked by the same transaction: readers of its words
  // need no warning then, as they met the old link, which is checked.
  template <class T>
  void destroy(T* object) {
    leaves_work_ = true;
    destroyed_.push_back(
        {object, [](void* it) { delete static_cast<T*>(it); }});
    epoch_.reserve(destroyed_.size());  // nothing may fail after the commit
  }

 private:
  friend class Session<M>;
  using Lock = Word<M>;

  // The order is such that reading and writing in hardware alone take one look.
  enum class Mode : std::uint8_t {
    kIdle,
    kReads,
    kWrites,
    kReadsBeside,  // in hardware, while others may be in software
    kWritesBeside,
    kReadsAlone,  // in hardware, where nobody is in software
    kWritesAlone
  };

  // Ends an attempt; the body must let it pass.
  struct Retry {};

  struct Read {
    Lock* lock;
    std::uint64_t version;
  };
  struct Held {
    Lock* lock;
    std::uint64_t version;
  };

  Transaction(Stm<M>& stm, EpochMember<M>& epoch, FastRandom& random);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // --- What sessions do ---
  bool is_running() const { return mode_ != Mode::kIdle; }
  bool must_run_alone();
  void begin(bool only_reads, bool is_serial, int aborts);
  void commit();
  void abort();  // gives all back
  bool is_consistent() const;

  // --- The same in hardware (transaction_hardware.h) ---
  void begin_in_hardware(bool only_reads);
  void begin_beside(bool only_reads);
  void leave_hardware(bool has_committed);
  void finish_in_software(bool has_committed);
  std::uint64_t read_beside(const Word<M>& word, Lock& lock);
  void write_beside(Word<M>& word, Lock& lock, std::uint64_t value);

  // --- Reading and writing ---
  template <class AnyCell>
  std::uint64_t read_word(const AnyCell& cell);
  template <class AnyCell>
  void write_word(AnyCell& cell, std::uint64_t value);
  template <class T>
  Lock& lock_of(const Cell<T, M>& cell) {
    return stm_.locks().of(&cell.word());
  }
  template <class T>
  Lock& lock_of(const LockedCell<T, M>& cell) {
    return cell.lock();
  }
  std::uint64_t read_in_software(const Word<M>& word, Lock& lock);
  void write_in_software(Word<M>& word, Lock& lock, std::uint64_t value);
  [[noreturn]] void fail(AbortCause cause, std::uint64_t newest_met = 0);
  bool is_mine(std::uint64_t lock_word) const {
    return LockWord::is_held(lock_word) &&
           LockWord::owner(lock_word) == owner_->number;
  }
  bool is_foreign(std::uint64_t lock_word) const {
    return LockWord::is_held(lock_word) &&
           LockWord::owner(lock_word) != owner_->number;
  }

  // --- Committing ---
  void announce_commit();
  void acquire(Lock& lock);
  void validate();
  void publish(std::uint64_t version);
  void keep_memory();
  void undo_memory();

  // --- Conflicts (transaction_conflicts.h) ---
  void resolve(Lock& lock, std::uint64_t seen);
  void resolve_alone(Lock& lock, Owner<M>& owner, std::uint64_t seen,
                     std::uint64_t status);
  void spin(Lock& lock, std::uint64_t seen);
  void ask_policy(Lock& lock, Owner<M>& owner, std::uint64_t seen,
                  std::uint64_t status);
  bool wait(Lock& lock, Owner<M>& owner, std::uint64_t seen,
            std::uint64_t status, double delay_ns);
  static void release_dead(Lock& lock, std::uint64_t seen);
  bool has_read(const Lock& lock) const;
  void check_alive();
  void release_locks();
  void end_attempt();

  Stm<M>& stm_;
  EpochMember<M>& epoch_;
  FastRandom& random_;
  const bool is_encounter_;
  const bool has_policy_;
  const bool is_clock_exact_;
  const bool is_safe_;
  const bool beside_hardware_;
  SoftwarePresence<M>& software_;
  const VersionSource<M> version_source_;
  Owner<M>* own_ = nullptr;  // null where there are none left
  // Its owner in this attempt is own_, or that of the transaction that runs
  // alone.
  Owner<M>* owner_ = nullptr;

  // These belong to this attempt:
  std::uint64_t hardware_version_ = 0;  // in the place of a lock's
  std::uint32_t beside_ = 0;  // committed since one has looked for others
  std::uint64_t attempt_ = 0;
  std::uint64_t began_ = 0;  // by the clock
  std::uint64_t began_ns_ = 0;
  int aborts_ = 0;  // before it
  Mode mode_ = Mode::kIdle;
  bool is_doomed_ = false;
  bool is_serial_ = false;
  bool keeps_reads_ = true;
  // There is more to do than to go idle: others in software, created_,
  // destroyed_.
  bool leaves_work_ = false;
  AbortCause cause_ = AbortCause::kLocked;
  std::uint64_t newest_met_ = 0;
  std::vector<Read> reads_;
  WriteSet<M> writes_;
  std::vector<Held> held_;
  std::vector<Retired> created_;
  std::vector<Retired> destroyed_;

  double mean_ns_ = std::numeric_limits<double>::quiet_NaN();  // of commits
};

// --- Reading and writing ----------------------------------------------------

template <Memory M>
template <class AnyCell>
inline std::uint64_t Transaction<M>::read_word(const AnyCell& cell) {
  if constexpr (HasHardware<M>) {
    if (mode_ >= Mode::kReadsAlone) [[likely]]
      return cell.word().load(std::memory_order_relaxed);
    if (mode_ >= Mode::kReadsBeside)
      return read_beside(cell.word(), lock_of(cell));
  }
  return read_in_software(cell.word(), lock_of(cell));
}

template <Memory M>
template <class AnyCell>
inline void Transaction<M>::write_word(AnyCell& cell, std::uint64_t value) {
  if constexpr (HasHardware<M>) {
    if (mode_ == Mode::kWritesAlone) [[likely]]
      return cell.word().store(value, std::memory_order_relaxed);
    if (mode_ == Mode::kWritesBeside)
      return write_beside(cell.word(), lock_of(cell), value);
  }
  write_in_software(cell.word(), lock_of(cell), value);
}

template <Memory M>
std::uint64_t Transaction<M>::read_in_software(const Word<M>& word,
                                               Lock& lock) {
  if (const auto* written = writes_.find(word)) return written->value;
  if (is_serial_) return word.load(std::memory_order_acquire);
  if (is_encounter_) check_alive();
  std::uint64_t before = lock.load(std::memory_order_acquire);
  while (is_foreign(before)) {
    // A lock that is taken at the commit is about to become too new.
    if (!is_encounter_) fail(AbortCause::kLocked);
    resolve(lock, before);
    before = lock.load(std::memory_order_acquire);
  }
  // Acquire, so that the lock is loaded again after the value. The writer takes
  // the lock and then stores the value with release, so a reader that sees the
  // new value sees the lock as taken.
  const std::uint64_t value = word.load(std::memory_order_acquire);
  if (lock.load(std::memory_order_relaxed) != before)
    fail(AbortCause::kChanged);
  const std::uint64_t version = LockWord::version(before);
  if (version > began_) fail(AbortCause::kTooNew, version);
  if (keeps_reads_) reads_.push_back({&lock, version});
  return value;
}

template <Memory M>
void Transaction<M>::write_in_software(Word<M>& word, Lock& lock,
                                       std::uint64_t value) {
  if (mode_ != Mode::kWrites) [[unlikely]]
    throw Error(ErrorCode::kInvalidArgument, "Transaction",
                "a write in a transaction that only reads")
        .hint("use Session::run");
  if (auto* written = writes_.find(word)) {
    written->value = value;
    return;
  }
  if (is_encounter_ && !is_serial_) {
    check_alive();
    acquire(lock);
  }
  writes_.add(word, lock, value);
}

template <Memory M>
void Transaction<M>::fail(AbortCause cause, std::uint64_t newest_met) {
  cause_ = cause;
  newest_met_ = newest_met;
  is_doomed_ = true;
  throw Retry{};
}

}  // namespace weft::concurrent
