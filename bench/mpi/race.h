// What both sides of a race under mpirun have in common: they work in turns,
// and a call takes what it takes the slowest rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fmt/core.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include "weft/base/parallel.h"
#include "weft/comm/collective/calibration.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/launcher.h"

namespace weft::bench {

constexpr double kBlockSeconds = 0.02;  // of repetitions that are timed at once
constexpr int kMostRepetitions = 1000;

// Seconds of one call, as the slowest rank sees them.
template <class Call>
double time_calls(int repetitions, const Call& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < repetitions; ++i) call();
  double seconds = (MPI_Wtime() - start) / repetitions;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

inline int repetitions_for(double seconds) {
  return static_cast<int>(
      std::clamp(kBlockSeconds / seconds, 1.0, double{kMostRepetitions}));
}

// {"ours": [s, …], "peer": [s, …]}, seconds of one call each; who goes first
// alternates.
template <class Ours, class Peer>
nlohmann::json race(int pairs, const Ours& ours, const Peer& peer) {
  const int repetitions = repetitions_for(time_calls(3, peer));
  auto found = nlohmann::json{{"ours", nlohmann::json::array()},
                              {"peer", nlohmann::json::array()}};
  for (int pair = 0; pair < pairs; ++pair) {
    const auto we = [&] {
      found["ours"].push_back(time_calls(repetitions, ours));
    };
    if (pair % 2 == 0) we();
    found["peer"].push_back(time_calls(repetitions, peer));
    if (pair % 2 == 1) we();
  }
  return found;
}

// What choosers are told of the network between the ranks.
inline Topology measured_topology(Engine& engine, Communicator& all) {
  Topology topology;
  const auto measure = [&]() -> Task<> {
    topology = co_await calibrate(all, placement_of(all));
  };
  engine.run(measure());
  return topology;
}

using RaceAll = void (*)(Transport&, std::uint64_t size, int pairs);

// The main function of `program PAIRS SIZE`, with one compute thread a rank.
inline int race_main(int argc, char** argv, const char* program,
                     const char* size, RaceAll race_all) {
  try {
    const auto transport = open_launched_transport();
    if (!transport || argc != 3) {
      fmt::print(stderr, "usage: mpirun … {} PAIRS {}\n", program, size);
      return 2;
    }
    set_thread_count(1);
    race_all(*transport, std::strtoull(argv[2], nullptr, 10),
             std::atoi(argv[1]));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return 1;
  }
}

}  // namespace weft::bench
