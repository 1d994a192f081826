// What accesses to shared memory cost on the machine at hand.
//
//   Simulation simulation({.costs = calibrate().costs, .cores = 64});
//
// Two threads, each pinned to a core of its own, update words that both use:
//
// - one of sixteen, drawn at random, whose lines lie with the other core half
//   of the time. Where the draw depends on the update before, each transfer is
//   waited for in full; where it does not, the core asks for the line while it
//   still works. Where it loads the word first, an update that then costs
//   nothing says that lines migrate.
// - the same word all the time, with several rests and with none. These rates
//   give the handover and the tenure.
//
// On two cores of a Sapphire Rapids server a transfer takes 85 ns and up to 40
// of it are hidden behind work; an idle machine lets its interconnect sleep,
// and both are twice as long. So compare measurements with predictions from
// costs of the same minute.
//
// Threads: starts two; anything else that runs on their cores spoils it.
// Takes about a fifth of a second.
#pragma once

#include <vector>

#include "weft/concurrent/coherence/simulation.h"

namespace weft::concurrent {

struct Calibration {
  CoherenceCosts costs;
  double contended_update_ns = 0;  // two cores together, per update of one word
  double transfer_low_ns = 0;      // quartiles of the rounds
  double transfer_high_ns = 0;
};

// Throws Error(kUnavailable) where the process has fewer than two cores, or
// where other work kept the two threads from running at the same time.
Calibration calibrate();

// Rounds of one load, in nanoseconds an update: of both threads together, and
// of one alone.
struct LoadTimes {
  std::vector<double> together;
  std::vector<double> alone;
};
struct CalibrationTimes {
  LoadTimes tight;                // one word, without a rest
  LoadTimes drawn;                // one of sixteen words
  LoadTimes chained;              // the same, where each draw waits
  LoadTimes loaded;               // the same, where the word is loaded first
  std::vector<LoadTimes> rested;  // one word, with rests of several lengths
};
// What these times say; `alone` are the costs that need no other core. Throws
// Error(kUnavailable) where two threads were as fast as one.
Calibration calibration_of(const CalibrationTimes& times,
                           const CoherenceCosts& alone);

// Pins the calling thread to the i-th of the cores that the process may use,
// counted around. Throws Error(kUnavailable) where that is refused.
void pin_to_core(int i);

}  // namespace weft::concurrent
