// Contracts linked lists: each node, when its turn comes, is spliced out and
// keeps who its neighbours were by then. That is what ranking a list or adding
// up along it in parallel is made of: undone in reverse order, each node stands
// between its two neighbours again.
//
// A node waits for its current neighbours if they are earlier. Of two
// neighbours only the earlier may go, so no two adjacent nodes go at once, and
// a link that is out of date leads to an earlier node, which blocks.
//
// Threads: see problem.h.
// Source: Shun, Gu, Blelloch, Fineman, Gibbons, SODA 2015 (shuffle.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <Memory M = RealMemory>
class ListContraction {
 public:
  using MemoryType = M;
  static constexpr Task kEnd = ~Task{0};

  struct Neighbours {
    Task before;
    Task after;
    bool operator==(const Neighbours&) const = default;
  };

  // successor[node] is the next node of its list, or kEnd; lists may be rings.
  // The nodes' numbers are translated into ranks by `order`.
  // Throws Error(kInvalidArgument) for a successor that is no node, or that two
  // nodes share.
  ListContraction(std::span<const Task> successor, const Order& order)
      : before_(successor.size()), after_(successor.size()) {
    WEFT_CHECK(order.size() == successor.size());
    for (Link& link : before_) link.store(kEnd, std::memory_order_relaxed);
    for (Task node = 0; node < order.size(); ++node) {
      const Task rank = order.rank_of[node];
      const Task next = successor[node];
      after_[rank].store(next == kEnd ? kEnd : link_back(order, node, next),
                         std::memory_order_relaxed);
    }
  }

  Task tasks() const { return static_cast<Task>(after_.size()); }

  Outcome attempt(Task node, int /*thread*/) noexcept {
    const Task before = before_[node].load(std::memory_order_acquire);
    const Task after = after_[node].load(std::memory_order_acquire);
    // kEnd is later than every node.
    if (before < node || after < node) return Outcome::kBlocked;
    // The later neighbour hears of it first: it goes on waiting, for the
    // earlier one, which may go as soon as it hears, and then writes to the
    // same link.
    if (before < after) {
      link(before_, after, before);
      link(after_, before, after);
    } else {
      link(after_, before, after);
      link(before_, after, before);
    }
    return Outcome::kProcessed;
  }

  // [rank]: the neighbours' ranks when the node went. After the run.
  std::vector<Neighbours> contracted() const {
    std::vector<Neighbours> result(after_.size());
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = {before_[i].load(std::memory_order_relaxed),
                   after_[i].load(std::memory_order_relaxed)};
    return result;
  }

 private:
  using Link = typename M::template Atomic<Task>;

  static void link(std::vector<Link>& links, Task node, Task neighbour) {
    if (node != kEnd) links[node].store(neighbour, std::memory_order_release);
  }

  // Lets `next` know of `node`; the rank of `next`.
  Task link_back(const Order& order, Task node, Task next) {
    if (next >= order.size())
      throw Error(ErrorCode::kInvalidArgument, "ListContraction",
                  "node {} is followed by {} in a list of {}", node, next,
                  order.size());
    const Task rank = order.rank_of[next];
    const Task other =
        before_[rank].exchange(order.rank_of[node], std::memory_order_relaxed);
    if (other != kEnd)
      throw Error(ErrorCode::kInvalidArgument, "ListContraction",
                  "nodes {} and {} are both followed by {}",
                  order.at_rank[other], node, next);
    return rank;
  }

  std::vector<Link> before_;
  std::vector<Link> after_;
};

}  // namespace weft::concurrent
