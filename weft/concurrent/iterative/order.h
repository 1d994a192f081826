// Tasks come in the order of their labels, ties in that of their numbers. A
// task's place in that order is its rank, and the algorithms of this folder
// know tasks by rank.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::concurrent {

using Task = std::uint32_t;

struct Order {
  std::vector<Task> rank_of;  // [task]
  std::vector<Task> at_rank;  // [rank]

  Task size() const { return static_cast<Task>(rank_of.size()); }

  // What `by_rank` says of each task, in the tasks' own order.
  template <class T>
  std::vector<T> by_task(const std::vector<T>& by_rank) const {
    std::vector<T> result(by_rank.size());
    for (Task rank = 0; rank < size(); ++rank)
      result[at_rank[rank]] = by_rank[rank];
    return result;
  }
};

// Sorts: O(n log n).
Order order_by_label(std::span<const std::uint64_t> labels);

// Labels that are a function of (seed, task) alone: the order depends neither
// on threads nor on how the tasks are scheduled.
Order random_order(Task tasks, std::uint64_t seed);

}  // namespace weft::concurrent
