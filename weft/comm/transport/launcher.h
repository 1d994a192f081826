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
#include <string>

#include "weft/comm/transport/transport.h"

namespace weft {

// Known by the environment that Open MPI, MPICH's and others' PMI, and Slurm
// set.
bool is_launched();

// What to say before MPI starts, since it may end the process without a chance
// to; empty when all looks well. Slurm has started several tasks, but told them
// nothing by which they could meet; the first of them says so.
std::string launch_warning();

// The rank that this process is; null when it was not launched. Once per
// process, by the thread that will poll or before it starts. Throws
// Error(kUnavailable) when the library is not there or MPI does not start.
std::unique_ptr<Transport> open_launched_transport();

}  // namespace weft
