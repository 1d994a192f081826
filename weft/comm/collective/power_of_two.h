// Algorithms for 2^k ranks, on any number: of the first 2 R ranks, where R is
// what is above the power of two, odd ones hand their vector to the even one
// before them, and get the result from it.
//
// Source: Rabenseifner and Träff, "More efficient reduction algorithms for
// non-power-of-two number of processors" (2004).
//
// Threads: as Channel.
#pragma once

#include <bit>
#include <functional>

#include "weft/comm/collective/dense.h"

namespace weft {

struct PowerOfTwo {
  explicit PowerOfTwo(int ranks)
      : core(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        folded(ranks - core) {}

  int core;    // ranks that take part
  int folded;  // the others

  // The rank that takes part as number `position`.
  int rank_of(int position) const {
    return position < folded ? 2 * position : position + folded;
  }
  // The number that a rank takes part as; -1 if it does not.
  int position_of(int rank) const {
    if (rank >= 2 * folded) return rank - folded;
    return rank % 2 == 0 ? rank / 2 : -1;
  }
};

// Runs `inner` on the ranks that take part. They go by their positions among
// these, and reach each other by the rank of a position.
using PowerOfTwoTask = std::function<Task<>(Channel, PowerOfTwo, DenseBuffer)>;
Task<> on_power_of_two(Channel channel, DenseBuffer buffer,
                       PowerOfTwoTask inner);

}  // namespace weft
