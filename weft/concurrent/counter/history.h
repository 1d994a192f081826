// What a relaxed counter answered while threads added to it, and how wrong that
// was.
//
// A read happened at some moment between its call and its return, so the count
// at that moment lies between the additions that had returned before the call
// and those that were called before the return. Whatever order one assumes, the
// read's cost lies between the two bounds given here. With one thread they are
// equal. The object passes where the process's costs lie between the
// distributions of the lower and of the upper bounds:
//
//   CostBounds bounds = read_costs(history);
//   bounds.lowest.excess_over(process) and process.excess_over(bounds.highest)
//   are below distance_threshold(…)
//
// Threads: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/concurrent/counter/cost_distribution.h"

namespace weft::concurrent {

struct CounterOperation {
  enum class Kind : std::uint8_t { kIncrement, kRead };
  Kind kind = Kind::kIncrement;
  std::uint64_t answer = 0;  // of a read
  // Stamps of one clock that all threads share, all different.
  std::uint64_t called = 0;
  std::uint64_t returned = 0;
};

struct CostBounds {
  CostDistribution lowest;
  CostDistribution highest;
};

// Bounds the cost of each read, in any order of threads. Throws
// Error(kInvalidArgument) for a history without reads, or with an operation
// that returns before its call.
CostBounds read_costs(std::span<const CounterOperation> history);

}  // namespace weft::concurrent
