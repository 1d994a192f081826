// What to do when a transaction asks for what another one holds: wait for how
// long, and who gives up after that.
//
// The owner holds; the requestor asks, and decides. Waiting costs the requestor
// and everybody behind it; aborting costs the work of the one that dies. A
// policy weighs the two without knowing how long the owner still needs.
//
// Where: Alistarh, Haider, Kübler, Nadiradze, "The Transactional Conflict
// Problem", SPAA 2018.
//
// Threads: policies are shared by all threads and keep no state; the random
// numbers are the caller's.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/concurrent/random.h"

namespace weft::concurrent {

struct ConflictInfo {
  // What an abort now would lose: the time that the requestor or the owner has
  // worked on its attempt.
  double self_cost_ns = 0;
  double owner_cost_ns = 0;
  // The owner and all that wait for it, the requestor among them: k >= 2.
  int chain = 2;
  // The mean of the owner's remaining time; NaN where it is not known.
  double mean_remaining_ns = std::numeric_limits<double>::quiet_NaN();
  bool can_kill_owner = false;
  // How often the one that would die has been aborted since its last commit.
  int aborts = 0;
};

enum class AfterDelay : std::uint8_t { kKillOwner, kAbortSelf };

struct Decision {
  double delay_ns = 0;
  AfterDelay after = AfterDelay::kAbortSelf;
};

class ConflictPolicy {
 public:
  virtual ~ConflictPolicy() = default;
  // The owner may be killed only where `can_kill_owner` says so.
  virtual Decision decide(const ConflictInfo& conflict,
                          FastRandom& random) const = 0;
};

}  // namespace weft::concurrent
