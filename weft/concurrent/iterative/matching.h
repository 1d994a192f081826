// The greedy maximal matching: an edge is taken unless an earlier one took one
// of its ends. It is the independent set of the line graph, which is not built:
// an edge must be the first live one at both of its ends, and each vertex has a
// cursor that skips dead ones.
//
// A vertex remembers the edge that took it. That an edge's other end is taken
// makes it dead only if another edge took it: it may be that edge itself, on
// its way to the second end.
//
// Threads: see problem.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/concurrent/iterative/graph.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/memory.h"

namespace weft::concurrent {

// Edges by rank, and the ranks of each vertex's edges in ascending order.
class RankedEdges {
 public:
  // Throws Error(kInvalidArgument) for an end that is not below `vertices`.
  RankedEdges(Vertex vertices, std::span<const Edge> edges, const Order& order);

  Task edges() const { return static_cast<Task>(edges_.size()); }
  Vertex vertices() const { return static_cast<Vertex>(begin_.size() - 1); }
  Edge edge(Task rank) const { return edges_[rank]; }
  std::span<const Task> at(Vertex v) const {
    return std::span(incident_).subspan(begin_[v], begin_[v + 1] - begin_[v]);
  }

 private:
  std::vector<Edge> edges_;
  std::vector<std::size_t> begin_;
  std::vector<Task> incident_;  // without edges from a vertex to itself
};

template <Memory M = RealMemory>
class Matching {
 public:
  using MemoryType = M;

  // The edges are kept by reference.
  explicit Matching(const RankedEdges& edges)
      : edges_(edges),
        taken_by_(edges.vertices()),
        cursors_(edges.vertices()) {}

  Task tasks() const { return edges_.edges(); }

  Outcome attempt(Task task, int /*thread*/) noexcept {
    const auto [a, b] = edges_.edge(task);
    if (a == b || taker_of(a) != kFree || taker_of(b) != kFree)
      return Outcome::kDropped;
    const Standing standing =
        std::max(standing_at(a, task), standing_at(b, task));
    if (standing == Standing::kTaken) return Outcome::kDropped;
    if (standing == Standing::kBlocked) return Outcome::kBlocked;
    taken_by_[a].store(task + 1, std::memory_order_release);
    taken_by_[b].store(task + 1, std::memory_order_release);
    return Outcome::kProcessed;
  }

  // [rank of edge]: 1 if the edge is in the matching. After the run.
  std::vector<std::uint8_t> taken() const {
    std::vector<std::uint8_t> result(edges_.edges(), 0);
    for (Vertex v = 0; v < edges_.vertices(); ++v)
      if (const Task taker = taker_of(v); taker != kFree) result[taker - 1] = 1;
    return result;
  }

 private:
  // How an edge stands at one of its ends; the larger decides.
  enum class Standing : std::uint8_t { kFirst, kBlocked, kTaken };

  static constexpr Task kFree = 0;  // edges are kept from 1 on

  Task taker_of(Vertex v) const {
    return taken_by_[v].load(std::memory_order_acquire);
  }

  // Whether all earlier edges at v are dead.
  Standing standing_at(Vertex v, Task task) noexcept {
    const auto incident = edges_.at(v);
    const std::uint32_t start = cursors_[v].load(std::memory_order_relaxed);
    std::uint32_t cursor = start;
    Standing standing = Standing::kFirst;
    // The edge itself is on the list, which ends the loop.
    for (; incident[cursor] < task; ++cursor) {
      const Task earlier = incident[cursor];
      const auto [a, b] = edges_.edge(earlier);
      const Task taker = taker_of(a == v ? b : a);
      // The earlier edge has taken its other end and is about to take this one.
      if (taker == earlier + 1) standing = Standing::kTaken;
      if (taker == kFree) standing = Standing::kBlocked;
      if (standing != Standing::kFirst) break;
    }
    // Another thread may have moved it further: that is only less saved.
    if (cursor != start) cursors_[v].store(cursor, std::memory_order_relaxed);
    return standing;
  }

  const RankedEdges& edges_;
  std::vector<typename M::template Atomic<Task>> taken_by_;  // [vertex]
  std::vector<typename M::template Atomic<std::uint32_t>> cursors_;
};

}  // namespace weft::concurrent
