// The network of a process that mpirun or srun has started.
//
//   if (const auto transport = open_launched_transport()) {
//     …  // one of transport->size() ranks
//   }
//
// A process on its own gets nothing, without having touched MPI: that lives in
// a library of its own, libweft_mpi.so beside the program, loaded only here.
#pragma once

#include <memory>

#include "weft/comm/transport/transport.h"

namespace weft {

// By the environment that Open MPI, MPICH's and others' PMI, and Slurm set.
bool is_launched();

// The rank that this process is; null when it was not launched. Once per
// process, by the thread that will poll or before it starts. Throws
// Error(kUnavailable) when the library is not there or MPI does not start.
std::unique_ptr<Transport> open_launched_transport();

}  // namespace weft
