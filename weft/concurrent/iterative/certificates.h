// Whether a result is the greedy one, decided locally: a vertex belongs to the
// greedy set if and only if no earlier neighbour does, and so on. Independent
// of how it was computed; O(vertices + edges).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/concurrent/iterative/graph.h"
#include "weft/concurrent/iterative/list_contraction.h"
#include "weft/concurrent/iterative/matching.h"
#include "weft/concurrent/iterative/order.h"

namespace weft::concurrent {

// `ranked` names vertices by rank.
bool is_greedy_independent_set(const Graph& ranked,
                               std::span<const std::uint8_t> chosen);
bool is_greedy_colouring(const Graph& ranked,
                         std::span<const std::uint32_t> colours);
bool is_greedy_matching(const RankedEdges& edges,
                        std::span<const std::uint8_t> taken);

// Whether putting the nodes back, the last one first, gives the lists again,
// each node between the two neighbours that it kept, which go later than it.
// `successor` and `order` are what the contraction was given.
bool is_contraction(std::span<const Task> successor, const Order& order,
                    std::span<const ListContraction<>::Neighbours> contracted);

// Whether swapping back, the last cell first, leaves 0, 1, 2, …
bool is_shuffle(std::span<const Task> targets, std::span<const Task> cells);

// Independent and maximal, but not necessarily greedy.
bool is_maximal_independent_set(const Graph& graph,
                                std::span<const std::uint8_t> chosen);

}  // namespace weft::concurrent
