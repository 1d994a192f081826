// The clocks of transactions: what tells a reader that a word is newer than the
// moment it reads at.
//
// A transaction draws `now` when it begins and reads nothing newer. A writer,
// once it holds its locks, draws the version of what it writes. Invariant: that
// version is above every `now` drawn before the locks were taken. With the
// relaxed clock it holds only with high probability.
//
// What a writer draws (clocks.h has them):
// - kGv1: fetch-add; every commit writes one shared word
// - kGv4: one attempt to add, else the version of who was faster; writers that
//   tie share a version, as their locks are disjoint
// - kGv5: one ahead of the clock, which stays; only who meets something newer
//   moves it, so that more abort
// - kGv6: as kGv4 once in 32, else as kGv5
// - kRelaxed: a MultiCounter's sample + delta; no word is shared, and what was
//   written cannot be read until the count has passed it
//
// The relaxed clock reads wrong by some cells at most, on either side; a delta
// above twice that error keeps the invariant. It pays with many cores and much
// data: a transaction that reads r and writes w of M words aborts about
// r w delta / M times per commit.
//
// A transaction in hardware (transaction_hardware.h) draws one ahead of the
// clock too, whichever it is, and leaves the clock where it is. So every clock
// is moved by who meets something newer.
//
// Where: Dice, Shalev, Shavit, DISC 2006, and its authors' variants; Alistarh
// and others, SPAA 2018, for the relaxed one.
//
// Threads: all at once.
#pragma once

#include <cstdint>

#include "weft/concurrent/memory.h"
#include "weft/concurrent/random.h"

namespace weft::concurrent {

enum class ClockKind : std::uint8_t { kGv1, kGv4, kGv5, kGv6, kRelaxed };

struct Tick {
  std::uint64_t version = 0;
  // Nobody has drawn a version since this transaction began: what it read is
  // still so.
  bool is_alone = false;
};

// Where transactions in hardware draw versions: one word, which they read
// inside of themselves, so that it stands still until they have committed.
template <Memory M>
struct VersionSource {
  const typename M::template Atomic<std::uint64_t>* word = nullptr;
  std::uint64_t scale = 1;
  std::uint64_t ahead = 1;

  std::uint64_t draw() const {
    return scale * word->load(std::memory_order_relaxed) + ahead;
  }
};

template <Memory M = RealMemory>
class Clock {
 public:
  Clock() = default;
  virtual ~Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  virtual std::uint64_t now(FastRandom& random) = 0;
  // The version of a writer that began at `began` and holds locks of versions
  // up to `newest_held`: above both.
  virtual Tick next(FastRandom& random, std::uint64_t began,
                    std::uint64_t newest_held) = 0;
  // A transaction aborted, for the `times`th time in a row, from 1;
  // `newest_met` is the version that was too new, or 0.
  virtual void aborted(FastRandom& random, std::uint64_t newest_met,
                       int times) = 0;
  // Whether the invariant holds always.
  virtual bool is_exact() const = 0;
  // Transactions in hardware read this word; without one there are none.
  virtual VersionSource<M> version_source(FastRandom& /*random*/) const {
    return {};
  }
};

}  // namespace weft::concurrent
