// What accesses to shared memory cost on the machine at hand.
//
//   Simulation simulation({.costs = calibrate().costs, .cores = 64});
//
// Two threads, each pinned to a core of its own, hand cache lines to and fro:
// each updates 256 lines that the other has just updated, one after another, so
// that every update waits for one transfer. (Two threads that poll one word
// measure something else: a store's transfer and a load's, which overlap.)
// The tenure is what makes the model give the measured rate at which two cores
// update one word as fast as they can.
//
// Threads: starts two; anything else that runs on their cores spoils it.
// Takes about a tenth of a second.
#pragma once

#include "weft/concurrent/coherence/simulation.h"

namespace weft::concurrent {

struct Calibration {
  CoherenceCosts costs;
  double contended_update_ns = 0;  // two cores together, per update of one word
  double transfer_low_ns = 0;      // quartiles of the rounds
  double transfer_high_ns = 0;
};

// Throws Error(kUnavailable) where the process has fewer than two cores.
Calibration calibrate();

// Pins the calling thread to the i-th of the cores that the process may use,
// counted around. Throws Error(kUnavailable) where that is refused.
void pin_to_core(int i);

}  // namespace weft::concurrent
