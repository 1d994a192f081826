// Which all-reduce is the fastest on a network, by its model.
//
// All algorithms of the registry with all variants that they offer for the
// topology are predicted for a size and the fastest is taken; among equals the
// first by name. Where ranks are alike and a ring is within a hundredth of the
// fastest, it is the ring: it sends to one rank and hears from another, and
// TCP makes more of that than of exchanges (docs/results/comm.md). It is a
// function of (topology, size) alone, so that all ranks with the same topology
// choose alike.
//
// Threads: caller synchronises. Cost: of a first choose() for a size,
// milliseconds; predictions are kept per power of two of the size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/transport/topology.h"

namespace weft {

class AllReduceChooser {
 public:
  explicit AllReduceChooser(Topology topology);

  const Topology& topology() const { return topology_; }

  // Chooses for vectors of this size; sizes between two powers of two share a
  // choice.
  const AllReduce& choose(std::size_t bytes) const;

  struct Candidate {
    AllReduce algorithm;
    double seconds = 0;               // predicted
    std::optional<Refusal> declined;  // why it cannot run
  };
  // All, the fastest first, those that cannot run last.
  std::vector<Candidate> candidates(std::size_t bytes) const;
  // The same as a table, of the `most` fastest and all that decline.
  std::string explain(std::size_t bytes, std::size_t most = 20) const;

 private:
  Topology topology_;
};

}  // namespace weft
