// What is done beside the steps of a training: measuring, saving, logging,
// stopping early, and what a program wants of its own.
//
// Hooks run in the order in which they were added, on every worker alike; what
// only one of them does, a hook decides by worker().is_first().
//
// Threads: the loop's.
#pragma once

#include <map>
#include <string>

#include "weft/base/error.h"

namespace weft {

class TrainLoop;

// Numbers that a checkpoint keeps, by name. Counts travel as doubles, which are
// exact up to 2^53.
using TrainNumbers = std::map<std::string, double>;

// Every function may throw, which ends the run.
class TrainHook {
 public:
  virtual ~TrainHook() = default;

  // Comes before the first step.
  virtual void on_start(TrainLoop&) {}
  // Its batch is there, and nothing is computed yet.
  virtual void on_batch(TrainLoop&) {}
  // After each step, when it is wholly counted.
  virtual void on_step(TrainLoop&) {}
  // After the last step of an epoch, or of the run: what the epoch came to is
  // found out, and written into TrainLoop::epoch().
  virtual void on_measure(TrainLoop&) {}
  // Then, when the loop stands at the next epoch: all of it is kept and told.
  virtual void on_epoch(TrainLoop&) {}
  // Somebody asked the run to end after this step. `reason` may be given
  // details.
  virtual void on_interrupt(TrainLoop&, Error& /*reason*/) {}
  // The run cannot go on: a number is none.
  virtual void on_failure(TrainLoop&, Error& /*reason*/) {}

  // What a hook must know again when the run is resumed.
  virtual void remember(TrainNumbers& /*numbers*/) const {}
  virtual void recall(const TrainNumbers& /*numbers*/) {}
};

// A number that may be missing.
inline double number_of(const TrainNumbers& numbers, const std::string& name,
                        double missing = 0) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? missing : found->second;
}

}  // namespace weft
