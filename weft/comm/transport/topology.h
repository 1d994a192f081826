// The shape of a network: levels of fabric, innermost first.
//
// Ranks are numbered so that digit 0 changes fastest: rank = i0 + p0 (i1 + p1
// (i2 + …)) with 0 <= i_s < p_s. Level s joins p_s units, each of them one
// group of the level below (a rank, at level 0), and each unit has one card to
// the fabric of the level, with a direction out and one in.
//
//   64 machines of 4 ranks, 35 GB/s and 5 us inside, one card of 10 GB/s and
//   5 us for each machine:
//     {{4, 5e-6, 1 / 35e9}, {64, 5e-6, 1 / 10e9}}
//
// The text form is one level after the other, "4@5us,35GB/s x 64@5us,10GB/s".
//
// Source of the model: the alpha-beta model (Hockney, 1994).
//
// Threads: a value type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Level {
  int size = 1;                 // units that the level joins
  double latency = 0;           // seconds per message (alpha)
  double seconds_per_byte = 0;  // of a unit's card (beta)

  bool operator==(const Level&) const = default;
};

struct Topology {
  // More are not read from a text.
  static constexpr int kMostRanks = 1 << 20;

  std::vector<Level> levels;  // innermost first

  int ranks() const;
  // The level whose fabric joins two ranks; -1 for a rank and itself.
  int level_between(int a, int b) const;
  // The unit of `level` that `rank` is part of, numbered over all of them.
  int unit_of(int rank, int level) const;

  bool operator==(const Topology&) const = default;
};

// The network as one level of all its ranks, for what sends from each to each:
// the outermost fabric, of whose cards each rank has its share.
Level flat_level(const Topology& topology);

// "4@5us,35GB/s x 64@5us,10GB/s"; units ns, us, ms, s and B/s … TB/s, bit/s …
// Tbit/s; "inf" is a number too. Throws Error(kInvalidArgument) with the place
// of the mistake.
Topology parse_topology(std::string_view text);
// Numbers to six digits.
std::string to_string(const Topology& topology);

}  // namespace weft
