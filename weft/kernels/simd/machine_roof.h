// What the machine can do at most, which no kernel passes.
//
// Threads: as the compute threads (base/parallel.h).
#pragma once

namespace weft {

// It is what all threads that compute here reach together.
struct MachineRoof {
  double flops_per_second = 0;  // multiply-adds of f32 in registers
  double bytes_per_second = 0;  // read from memory that no cache holds
};

// Measured in about a third of a second when it is first asked: the best of
// some runs, as what else the machine does only makes a run slower.
const MachineRoof& machine_roof();

}  // namespace weft
