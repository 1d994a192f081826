// The clocks of transactions: what tells a reader that a word is newer than the
// moment it reads at.
//
// A transaction draws `now` when it begins and reads nothing newer. A writer,
// once it holds its locks, draws the version of what it writes. Invariant: that
// version is above every `now` drawn before the locks were taken. With the
// relaxed clock it holds only with high probability.
//
// | clock | a writer's version | |
// | --- | --- | --- |
// | kGv1 | fetch-add | every commit writes one shared word |
// | kGv4 | one attempt to add; else the version of who was faster | writers
// that tie share a version: their locks are disjoint | | kGv5 | one ahead of
// the clock, which stays | only a reader that met something newer moves it:
// more aborts | | kGv6 | GV4 once in 32, else GV5 | | | kRelaxed | a
// MultiCounter's sample + delta | no shared word; what was written is
// unreadable until the count has passed it |
//
// The relaxed clock reads wrong by some cells at most, on either side; a delta
// above twice that error keeps the invariant. It pays with many cores and much
// data: a transaction that reads r and writes w of M words aborts about
// r w delta / M times per commit.
//
// Where: Dice, Shalev, Shavit, DISC 2006, and its authors' variants; Alistarh
// and others, SPAA 2018, for the relaxed one.
//
// Threads: all at once.
#pragma once

#include <cstdint>
#include <memory>

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

class Clock {
 public:
  virtual ~Clock() = default;
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
};

// `cells` and `delta` are the relaxed clock's.
template <Memory M>
std::unique_ptr<Clock> make_clock(ClockKind kind, std::uint32_t cells,
                                  std::uint64_t delta);

}  // namespace weft::concurrent

#include "weft/concurrent/stm/clocks.h"
