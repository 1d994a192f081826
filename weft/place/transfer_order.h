// In which order a worker is best sent what it computes with.
//
// Transfers share one channel, which carries one at a time; computations share
// one processor, which runs any whose transfers have come and whose
// predecessors have run. A good order lets the processor begin early and keeps
// both busy.
//
// Method: Hashemi, Abdu Jyothi and Campbell, "TicTac: Accelerating Distributed
//         Deep Learning with Communication Scheduling", MLSys 2019, algorithms
//         1 to 3 and section 3.1.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

struct TransferGraph {
  struct Computation {
    double seconds = 0;
    std::vector<std::size_t> transfers = {};     // that it reads by itself
    std::vector<std::size_t> predecessors = {};  // computations before it
  };

  std::vector<double> transfers;  // seconds of each
  std::vector<Computation> computations;
};

// All of these give every transfer its place: a smaller one goes first, and
// equals may go in any order among themselves. What no computation reads comes
// last. Cost: the product of transfers, distinct sets of transfers that
// computations depend on, and their sizes.

// TIC: by the graph alone, as if every transfer took a second and computing
// none. Transfers that share a place are alike to it.
std::vector<std::size_t> timing_independent_order(const TransferGraph& graph);
// TAC: by the seconds of transfers and computations. All places differ.
std::vector<std::size_t> timing_aware_order(const TransferGraph& graph);

// What an order comes to.
struct TransferSchedule {
  double makespan = 0;  // until the last computation has run
  double total = 0;     // if nothing overlapped: the paper's U
  double bound = 0;     // of whichever of the two is busier: the paper's L

  // Which part of what overlap could save is saved: 1 is the best, and all that
  // there is where nothing could be.
  double efficiency() const {
    return total > bound ? (total - makespan) / (total - bound) : 1;
  }
};

// Transfers go in the order of their places, and equals in that of their
// numbers; of the computations that can run, the first does.
TransferSchedule schedule_of(const TransferGraph& graph,
                             std::span<const std::size_t> places);

}  // namespace weft
