// What communication should take, by the alpha-beta model over a topology: a
// card carries its messages one after the other, ways in and out at once, and
// each message arrives a latency later. Steps follow each other in lockstep,
// but for those of a ring, on which ranks run ahead: a step takes what a hop
// does on average, or the busiest card. Adding is counted where one rank adds
// more than its share.
//
// Source: Hockney, "The communication challenge for MPP" (1994), with the
// sharing of cards as in Cho et al., "BlueConnect" (MLSys 2019).
//
// Threads: pure functions.
#pragma once

#include <functional>

#include "weft/comm/collective/scatter_gather.h"
#include "weft/comm/transport/topology.h"

namespace weft {

// One message per rank, all at once, each of `bytes`; ranks with to(rank) < 0
// send none. Cost: one call of `to` per rank.
struct ExchangeCost {
  double latency = 0;   // seconds
  double transfer = 0;  // seconds for which the busiest card is held
  int level = 0;        // of that card
  double mean = 0;      // seconds of a message, over all of them

  double seconds() const { return latency + transfer; }
};
ExchangeCost exchange_cost(const Topology& topology, double bytes,
                           const std::function<int(int)>& to);

// A reduce-scatter, or all-gather, of `bytes` in all groups of `size` ranks
// that are `stride` apart, at once.
struct StageShape {
  int stride = 1;
  int size = 1;
};
ExchangeCost scatter_cost(const Topology& topology, ScatterMethod method,
                          StageShape shape, double bytes);

// What it takes to add `vectors` whole vectors of `bytes` one after the other,
// beyond the (P - 1) / P of one that every algorithm adds.
double repeated_adding(const Topology& topology, int vectors, double bytes);

}  // namespace weft
