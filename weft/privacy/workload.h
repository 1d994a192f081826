// What a simulation schedules: tasks that arrive and ask of blocks that arrive.
//
//   block_study(std=4)       tasks that differ in how many blocks they ask of
//   order_study(std=2)       tasks that differ in the order that is best for
//   them alibaba(file=FILE)       jobs of a cluster, with privacy demands by a
//   rule privatekube(folder=DIR)  statistics and trainings of PrivateKube
//   power_law                demands and blocks of a heavy tail
//
// The unit of time is that in which a block arrives. A new workload is one file
// in weft/privacy/workloads.
//
// Threads: pure functions; immutable registry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/privacy/renyi_curve.h"

namespace weft::privacy {

struct SimulatedTask {
  double arrival = 0;
  std::size_t blocks = 1;  // of which it asks
  RenyiCurve demand;       // of each
  double weight = 1;
};

// Which of the blocks that are there a task asks of.
enum class BlockChoice : std::uint8_t {
  kLatest,
  kUniform,     // without replacement
  kContiguous,  // at a random place
  kZipf,        // without replacement, of the latest most
};

struct Workload {
  Guarantee budget = {10, 1e-7};  // of each block
  std::size_t first_blocks = 1;   // that are there at the beginning
  std::size_t more_blocks = 0;    // that arrive at 1, 2, …
  BlockChoice choice = BlockChoice::kLatest;
  // Scheduling: all at once at the beginning where `every` is 0.
  double every = 0;
  std::string unlocking = "all";
  std::vector<SimulatedTask> tasks;  // in the order of their arrival
};

struct WorkloadDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // The same options and seed give the same tasks.
  Workload (*make)(const Options& options, std::uint64_t seed) = nullptr;
};

using WorkloadRegistry = Registry<WorkloadDef>;
using WorkloadCall = Call<WorkloadDef>;

// Throws Error(kInvalidArgument) with a caret under the place.
WorkloadCall parse_workload(std::string_view text);

}  // namespace weft::privacy

namespace weft {

// It is filled from the files of weft/privacy/workloads.
const privacy::WorkloadRegistry& privacy_workload_registry();

}  // namespace weft
