// Software transactional memory: blocks of reads and writes that happen all at
// once, or not at all.
//
//   Stm<> stm;
//   Cell<long> from(100), to(0);
//   Session<> session(stm);               // one per thread
//   session.run([&](Transaction<>& t) {   // again, until nothing interferes
//     t.write(from, t.read(from) - 1);
//     t.write(to, t.read(to) + 1);
//   });
//
// This is TL2: reads are invisible and checked against a clock, writes wait
// until the commit, which takes the locks of the words written, draws a version
// from the clock, checks that what was read still holds, and writes. So a
// transaction sees one moment's state from its first read on (opacity), and one
// that only reads writes nothing that others see.
//
// Choices (StmOptions):
// - the clock (clock.h). With the relaxed one the above holds with high
//   probability while a transaction runs.
// - validation. Safe: the versions of all reads must be the same at the commit,
//   so that what commits is serialisable whatever the clock says; with the
//   relaxed clock this includes transactions that only read. Probabilistic: as
//   published, they must not be newer than the transaction's beginning.
// - locking. At commit time, or at the first write (encounter time): then
//   conflicts show early, values still wait for the commit, and whoever needs a
//   lock may kill its owner, if a contention policy says so (conflict.h).
//
// A transaction that was aborted `retries_before_serial` times in a row runs
// alone: others may read and compute on meanwhile, but none commits writes.
//
// Where the processor has transactions of its own (hardware.h), one is tried
// first, `hardware_attempts` times at most; transaction_hardware.h says why
// both kinds may run side by side. What hardware cannot do (long ones,
// exceptions, system calls) is done as above. A body then must not count on its
// side effects in memory: a failed attempt undoes them. With a contention
// policy there is no hardware, which would decide by itself.
//
// Memory: Transaction::create and destroy. What a transaction creates is freed
// if it aborts; what it destroys is freed when no thread can still see it.
//
// Errors: exceptions of the body abort the transaction and reach the caller,
// with nothing written. Error(kExhausted) for too many threads, or versions
// past 2^51. A body must not keep side effects: it may run several times.
// Threads: an Stm is shared and outlives its sessions; one Session each.
//
// Where: Dice, Shalev, Shavit, "Transactional Locking II", DISC 2006; clocks
// and validation also from Alistarh and others, SPAA 2018; kills by status
// words as in Herlihy and others' DSTM, PODC 2003; hardware beside software
// after Damron and others, "Hybrid Transactional Memory", ASPLOS 2006.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/error.h"
#include "weft/concurrent/backoff.h"
#include "weft/concurrent/conflict/conflict.h"
#include "weft/concurrent/stm/clocks.h"
#include "weft/concurrent/stm/epochs.h"
#include "weft/concurrent/stm/lock_table.h"
#include "weft/concurrent/stm/owners.h"
#include "weft/concurrent/stm/software_presence.h"

namespace weft::concurrent {

enum class Locking : std::uint8_t { kCommitTime, kEncounterTime };
enum class Validation : std::uint8_t { kSafe, kProbabilistic };

struct StmOptions {
  ClockKind clock = ClockKind::kGv4;
  Locking locking = Locking::kCommitTime;
  Validation validation = Validation::kSafe;
  // The relaxed clock's: 4 cells for each thread that one expects; a delta of 0
  // stands for 10 times that number.
  std::uint32_t clock_cells = 32;
  std::uint64_t delta = 0;
  int locks_log2 = 20;
  std::uint32_t most_threads = 1024;
  int retries_before_serial = 100;
  // 0: all transactions in software.
  int hardware_attempts = 8;
  // Where no policy is given, one looks so often whether a lock was released,
  // and then aborts.
  int lock_spins = 1000;
  std::shared_ptr<const ConflictPolicy> policy = nullptr;
  std::uint64_t seed = 1;
};

template <Memory M = RealMemory>
class Stm {
 public:
  explicit Stm(const StmOptions& options = {})
      : Stm(options,
            make_clock<M>(options.clock, options.clock_cells,
                          options.delta != 0
                              ? options.delta
                              : std::uint64_t{10} * options.clock_cells)) {}

  // Uses a clock of the caller's.
  Stm(const StmOptions& options, std::unique_ptr<Clock<M>> clock)
      : options_(options),
        clock_(std::move(clock)),
        locks_(options.locks_log2),
        epochs_(options.most_threads),
        uses_hardware_(can_use_hardware()) {}

  const StmOptions& options() const { return options_; }
  // Whether transactions are tried in hardware.
  bool uses_hardware() const { return uses_hardware_; }
  Clock<M>& clock() { return *clock_; }
  LockTable<M>& locks() { return locks_; }
  Epochs<M>& epochs() { return epochs_; }
  OwnerTable<M>& owners() { return owners_; }
  // It is kept where uses_hardware().
  SoftwarePresence<M>& software() { return software_; }

  // --- The right to be the only one that commits ---

  bool is_serial() const { return serial_->load() != 0; }

  void wait_while_serial() const {
    for (Backoff<M> backoff; is_serial();) backoff();
  }

  // A commit is announced first, and looks at `serial_` then. Here `serial_` is
  // set first, and announced commits are looked for then. So at least one of
  // the two sees the other.
  void enter_serial() {
    Backoff<M> backoff;
    for (std::uint64_t free = 0; !serial_->compare_exchange_strong(free, 1);
         free = 0)
      backoff();
    const std::uint32_t count = owners_.count();
    for (std::uint32_t i = 0; i < count; ++i) wait_for_commit(owners_[i]);
  }

  void leave_serial() { serial_->store(0, std::memory_order_release); }

 private:
  bool can_use_hardware() const {
    if constexpr (HasHardware<M>) {
      FastRandom random(options_.seed, 0);
      return options_.hardware_attempts > 0 && options_.policy == nullptr &&
             clock_->version_source(random).word != nullptr &&
             M::Hardware::is_available();
    } else {
      return false;
    }
  }

  static void wait_for_commit(const Owner<M>& owner) {
    const std::uint64_t status = owner.status.load();
    if (OwnerStatus::state(status) != OwnerState::kCommitting) return;
    for (Backoff<M> backoff; owner.status.load() == status;) backoff();
  }

  StmOptions options_;
  std::unique_ptr<Clock<M>> clock_;
  LockTable<M> locks_;
  OwnerTable<M> owners_;
  Epochs<M> epochs_;
  const bool uses_hardware_;
  SoftwarePresence<M> software_;
  CacheAligned<Word<M>> serial_;
};

extern template class Stm<RealMemory>;

}  // namespace weft::concurrent
