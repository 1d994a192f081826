// A transaction in hardware.
//
// It keeps no lists: it reads and writes the words themselves, and the
// processor watches them. While no transaction runs in software
// (software_presence.h), that is all. One that begins to writes the word that
// says so, which this transaction has read, and thereby ends it. While one may
// run in software, this transaction keeps the locks, too:
//
// - It stops at a lock that is held. So it never meets half of what a commit in
//   software writes; and a commit that comes later takes a lock that this
//   transaction has looked at, which ends it.
// - It gives the lock of each word that it writes a version drawn from the
//   clock. It has read the clock's word, which thus stands still until the
//   commit, so the version is above every `now` drawn before. That is clock.h's
//   invariant, with all locks taken and given back in the one moment of the
//   commit. So a transaction in software sees words of before or of after that
//   moment, never both (opacity), and what it has read by then counts as
//   changed.
// - It stops where a transaction runs alone.
//
// It needs no epoch. An object that it can reach was not unlinked before it
// read the link. Unlinking writes the link, which ends this transaction before
// the memory is freed.
//
// The clock stays where it is, as with GV5, so these transactions share only
// what they read. Software raises it where it meets something newer.
//
// Where: versions and locks of software kept by transactions in hardware, from
// Damron and others, "Hybrid Transactional Memory", ASPLOS 2006; doing without
// them while nobody is in software, from Lev, Moir, Nussbaum, "PhTM: Phased
// Transactional Memory", TRANSACT 2007.
#pragma once

#include "weft/concurrent/stm/transaction_class.h"

namespace weft::concurrent {

// --- Inside -----------------------------------------------------------------

template <Memory M>
inline void Transaction<M>::begin_in_hardware(bool only_reads) {
  mode_ = only_reads ? Mode::kReadsAlone : Mode::kWritesAlone;
  if (software_.is_possible()) [[unlikely]]
    begin_beside(only_reads);
}

template <Memory M>
void Transaction<M>::begin_beside(bool only_reads) {
  if constexpr (HasHardware<M>) {
    using Hardware = typename M::Hardware;
    if (stm_.is_serial()) Hardware::template abort<HardwareOutcome::kAlone>();
    const std::uint64_t version = version_source_.draw();
    // Software knows what to say of that.
    if (version > LockWord::kMostVersion)
      Hardware::template abort<HardwareOutcome::kCannot>();
    hardware_version_ = LockWord::free(version);
    leaves_work_ = true;
    mode_ = only_reads ? Mode::kReadsBeside : Mode::kWritesBeside;
  }
}

template <Memory M>
std::uint64_t Transaction<M>::read_beside(const Word<M>& word, Lock& lock) {
  if constexpr (HasHardware<M>) {
    if (LockWord::is_held(lock.load(std::memory_order_relaxed)))
      M::Hardware::template abort<HardwareOutcome::kLocked>();
  }
  return word.load(std::memory_order_relaxed);
}

template <Memory M>
void Transaction<M>::write_beside(Word<M>& word, Lock& lock,
                                  std::uint64_t value) {
  if constexpr (HasHardware<M>) {
    using Hardware = typename M::Hardware;
    const std::uint64_t before = lock.load(std::memory_order_relaxed);
    if (LockWord::is_held(before))
      Hardware::template abort<HardwareOutcome::kLocked>();
    if (LockWord::version(before) == LockWord::kMostVersion)
      Hardware::template abort<HardwareOutcome::kCannot>();
    // Above what was there, too: with a relaxed clock that is not a matter of
    // course.
    lock.store(std::max(hardware_version_, before + LockWord::free(1)),
               std::memory_order_relaxed);
  }
  word.store(value, std::memory_order_relaxed);
}

// --- After it
// -------------------------------------------------------------------

template <Memory M>
inline void Transaction<M>::leave_hardware(bool has_committed) {
  if (leaves_work_) [[unlikely]]
    finish_in_software(has_committed);
  mode_ = Mode::kIdle;
}

// Looks for others in software as often as costs little, however many there
// are.
template <Memory M>
void Transaction<M>::finish_in_software(bool has_committed) {
  has_committed ? keep_memory() : undo_memory();
  if (mode_ >= Mode::kReadsAlone || !has_committed) return;
  if (++beside_ < stm_.epochs().members()) return;
  beside_ = 0;
  software_.take_back(stm_.epochs(), epoch_.number());
}

}  // namespace weft::concurrent
