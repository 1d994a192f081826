// The greedy maximal independent set: a vertex is chosen unless an earlier
// neighbour was.
//
// A vertex is live, chosen or dead, and leaves `live` once. It is chosen when
// all earlier neighbours are dead, and dead when one is chosen. Whoever chooses
// marks the later neighbours dead, but a mark may come late: what decides is
// the states of the earlier neighbours.
//
// Threads: see problem.h.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/concurrent/iterative/graph.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <Memory M = RealMemory>
class IndependentSet {
 public:
  using MemoryType = M;

  // Vertices are their ranks (Graph::renamed). The graph is kept by reference.
  explicit IndependentSet(const Graph& ranked)
      : graph_(ranked), states_(ranked.vertices()) {}

  Task tasks() const { return graph_.vertices(); }

  Outcome attempt(Task v, int /*thread*/) noexcept {
    if (states_[v].load(std::memory_order_relaxed) == kDead)
      return Outcome::kDropped;
    const auto neighbours = graph_.neighbours(v);
    std::size_t i = 0;
    // Neighbours are sorted, so the earlier ones come first.
    for (; i < neighbours.size() && neighbours[i] < v; ++i) {
      const State state =
          states_[neighbours[i]].load(std::memory_order_acquire);
      if (state == kLive) return Outcome::kBlocked;
      if (state == kChosen) {
        states_[v].store(kDead, std::memory_order_release);
        return Outcome::kDropped;
      }
    }
    states_[v].store(kChosen, std::memory_order_release);
    // No later neighbour can have been chosen, as each waited for this one; to
    // mark them only spares them the way here.
    for (; i < neighbours.size(); ++i)
      states_[neighbours[i]].store(kDead, std::memory_order_release);
    return Outcome::kProcessed;
  }

  // [rank]: 1 if the vertex is in the set. After the run.
  std::vector<std::uint8_t> chosen() const {
    std::vector<std::uint8_t> result(states_.size());
    for (std::size_t v = 0; v < result.size(); ++v)
      result[v] = states_[v].load(std::memory_order_relaxed) == kChosen;
    return result;
  }

 private:
  using State = std::uint8_t;
  static constexpr State kLive = 0;
  static constexpr State kChosen = 1;
  static constexpr State kDead = 2;

  const Graph& graph_;
  std::vector<typename M::template Atomic<State>> states_;
};

}  // namespace weft::concurrent
