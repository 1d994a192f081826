// Independent sets, matchings and colourings of plain graphs: the greedy ones
// in a random order, computed by a MultiQueue on several threads. The result is
// a function of the graph and the seed alone.
//
//   const auto chosen = independent_set(graph, {.seed = 1, .threads = 8});
//
// Errors:  Error(kInvalidArgument) for fewer than one thread or queues below 0.
// Threads: may be called from any thread; each call starts its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/concurrent/iterative/graph.h"
#include "weft/concurrent/iterative/order.h"

namespace weft::concurrent {

struct KernelOptions {
  std::uint64_t seed = 1;
  int threads = 1;
  int queues = 0;  // 0: four for each thread
};

// [vertex]: 1 if it is in the set.
std::vector<std::uint8_t> independent_set(const Graph& graph,
                                          const KernelOptions& options);

// [vertex]: its colour, from 0; at most the largest degree + 1 colours.
std::vector<std::uint32_t> colouring(const Graph& graph,
                                     const KernelOptions& options);

// [edge]: 1 if it is in the matching. Throws Error(kInvalidArgument) for an end
// that is not below `vertices`.
std::vector<std::uint8_t> matching(Vertex vertices, std::span<const Edge> edges,
                                   const KernelOptions& options);

// The same in an order of the caller's, for instance by weight.
std::vector<std::uint8_t> matching(Vertex vertices, std::span<const Edge> edges,
                                   const Order& order,
                                   const KernelOptions& options);

}  // namespace weft::concurrent
