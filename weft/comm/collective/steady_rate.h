// What cards carry without a pause.
//
// A link that is limited by a token bucket lets through at once what fits into
// the bucket: a message by itself shows a rate that the card does not keep, and
// while it goes around other ranks the bucket fills again. So messages follow
// each other around a circle of ranks, all of whose cards are in use then,
// until much has passed and the rate of a window is that of the window before.
//
// Method: probing by trains of packets, as in Dovrolis, Ramanathan and Moore,
//         "What do packet dispersion techniques measure?", INFOCOM 2001.
// Threads: as Communicator.
#pragma once

#include <cstddef>

#include "weft/comm/transport/communicator.h"

namespace weft {

// The ranks 0, stride, 2 * stride, …, `size` of them.
struct Circle {
  int size = 1;
  int stride = 1;

  bool has(int rank) const {
    return rank % stride == 0 && rank / stride < size;
  }
  // The one `steps` behind it, around the end.
  int behind(int rank, int steps) const {
    return (rank / stride + steps + size) % size * stride;
  }
};

// Seconds per byte of the last window, on the first rank, whose `segment`
// counts for all; 0 elsewhere, and where it is 0. Entered by all ranks of the
// circle. Cost: 32 MiB around the circle or `most_seconds`, whichever ends
// first.
Task<double> steady_seconds_per_byte(Channel channel, Circle circle,
                                     std::size_t segment, double most_seconds);

}  // namespace weft
