// The sequential process that a MultiCounter is compared with: increments one
// after the other, each with its own two random cells, and reads in between.
//
// With staleness 1 it is the process R of the definition. With staleness n the
// choices of n increments at a time are made from what the cells held before
// the first of them: what n threads do at worst that all look, and then all
// add. Costs of reads grow with n, so it bounds what n threads may do.
//
// Where: Alistarh and others, SPAA 2018.
//
// Threads: a pure function.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::concurrent {

struct TwoChoiceProcess {
  std::uint32_t cells = 1;
  std::uint32_t staleness = 1;
  int choices = 2;
  std::uint64_t seed = 1;
};

struct ProcessRun {
  std::vector<double> costs;  // |m x a random cell - the count|, of each read
  std::vector<std::uint64_t> gaps;  // largest less smallest, at each read
  std::vector<std::uint64_t> cells;
};

// `increments` of them, with one read after every `read_every`. Throws
// Error(kInvalidArgument) where cells, staleness or `read_every` are 0, and for
// other than one or two choices.
ProcessRun run_process(const TwoChoiceProcess& process,
                       std::uint64_t increments, std::uint64_t read_every);

}  // namespace weft::concurrent
