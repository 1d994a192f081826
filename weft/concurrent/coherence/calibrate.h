// What accesses to shared memory cost on the machine at hand.
//
//   Simulation simulation({.costs = calibrate().costs, .cores = 64});
//
// Two threads, each pinned to a core of its own, update one word, so that its
// line goes to and fro: with rests about as long as a transfer, with short
// ones, and with none. The first gives the transfer, the other two rates give
// the handover and the tenure.
//
// A transfer costs what a core cannot hide of it, and that depends on the code
// around: a core that computes asks for the next line ahead. On two cores of a
// Sapphire Rapids server it takes 85 ns where each update's address depends on
// the one before, 55 ns at the rests chosen here, 20 to 40 ns at three times
// these. So predictions are for code that works some 50 ns between accesses.
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
