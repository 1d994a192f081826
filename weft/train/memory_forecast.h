// What a training will take of memory, before it runs: plans say how large
// their arenas are, and what is opened and built is held already.
//
// Threads: caller synchronises.
#pragma once

#include <cstdint>

#include "weft/train/assembly.h"

namespace weft {

// In bytes.
struct MemoryForecast {
  std::int64_t batch = 0;  // of all workers together
  int workers = 1;         // in this process
  double program = 0;      // the process before it: code, libraries, threads
  double data = 0;         // opened
  double parameters = 0;   // and running statistics
  double optimizer_state = 0;
  double planning = 0;    // plans and generated code
  double train_step = 0;  // its values: the arena of its plan
  double gradients = 0;  // that TensorBoard shows, and the step that makes them
  double evaluation = 0;
  double batches = 0;  // that are made ahead
  double network = 0;  // what meets: gradients, messages, a shared model
  // A model that branches, loops or calls has no plan: what its steps take
  // depends on the data, and is not in here.
  bool is_open = false;
  // Examples of a step that are computed one after the other, by a worker;
  // 0: all are at once (privacy.per_example).
  std::int64_t one_by_one = 0;

  double total() const;
};

// Opens the data, builds the model and plans its steps, as a run of `workers`
// workers in this process would. Throws as assemble() and Step do.
MemoryForecast forecast_memory(const Recipe& recipe, int workers = 1);

// Throws Error(kExhausted), naming what is needed, what is free and about which
// batch should fit, unless the steps of a run that is built already find
// the room of `needed` further bytes.
void require_memory(const Recipe& recipe, double needed);

}  // namespace weft
