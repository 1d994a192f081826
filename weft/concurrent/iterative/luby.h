// A maximal independent set by rounds with fresh priorities: who beats all live
// neighbours is chosen. Not the greedy set, and not bound to an order; here as
// the reference that has no order to keep.
//
// Source: Luby, "A simple parallel algorithm for the maximal independent set
// problem", SIAM Journal on Computing 15 (4), 1986, algorithm A.
//
// Threads: a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/concurrent/iterative/graph.h"

namespace weft::concurrent {

struct LubySet {
  std::vector<std::uint8_t> chosen;  // [vertex]
  int rounds = 0;                    // O(log vertices) with high probability
};

LubySet luby_independent_set(const Graph& graph, std::uint64_t seed);

}  // namespace weft::concurrent
