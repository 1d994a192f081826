// The greedy colouring: each vertex takes the smallest colour that no earlier
// neighbour has, so at most the largest degree + 1 colours are used. A vertex
// waits for all of its earlier neighbours: the generic case of the framework.
//
// Threads: see problem.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/concurrent/iterative/graph.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <Memory M = RealMemory>
class Colouring {
 public:
  using MemoryType = M;

  // Vertices are their ranks (Graph::renamed). The graph is kept by reference.
  // attempt() may be called by threads 0 … threads-1.
  Colouring(const Graph& ranked, int threads)
      : graph_(ranked), colours_(ranked.vertices()) {
    std::size_t most = 0;
    for (Vertex v = 0; v < ranked.vertices(); ++v)
      most = std::max(most, ranked.neighbours(v).size());
    // Colours 1 … most + 1. Fewer than one thread are the run's to refuse.
    taken_.assign(static_cast<std::size_t>(std::max(threads, 0)),
                  std::vector<Task>(most + 2, kNobody));
  }

  Task tasks() const { return graph_.vertices(); }

  Outcome attempt(Task v, int thread) noexcept {
    std::vector<Task>& taken = taken_[static_cast<std::size_t>(thread)];
    for (const Vertex u : graph_.neighbours(v)) {
      if (u >= v) break;
      const std::uint32_t colour = colours_[u].load(std::memory_order_acquire);
      if (colour == kNone) return Outcome::kBlocked;
      // A mark names the vertex that made it, so nothing need be cleared before
      // the next one.
      taken[colour] = v;
    }
    std::uint32_t colour = 1;
    while (taken[colour] == v) ++colour;
    colours_[v].store(colour, std::memory_order_release);
    return Outcome::kProcessed;
  }

  // [rank], from 0. After the run.
  std::vector<std::uint32_t> colours() const {
    std::vector<std::uint32_t> result(colours_.size());
    for (std::size_t v = 0; v < result.size(); ++v)
      result[v] = colours_[v].load(std::memory_order_relaxed) - 1;
    return result;
  }

 private:
  static constexpr std::uint32_t kNone = 0;  // colours are kept from 1 on
  static constexpr Task kNobody = ~Task{0};

  const Graph& graph_;
  std::vector<typename M::template Atomic<std::uint32_t>> colours_;
  // [thread][colour]: the vertex that last found it taken.
  std::vector<std::vector<Task>> taken_;
};

}  // namespace weft::concurrent
