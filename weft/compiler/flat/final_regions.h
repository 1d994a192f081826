// Regions of the entry that nothing waits for: all they compute are results of
// the run. They run last, and write where the caller wants the results; also
// over an argument, as nothing reads it any more.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weft/compiler/flat/flat_graph.h"

namespace weft {

using Donations = std::vector<std::pair<std::size_t, std::size_t>>;

struct FinalRegion {
  // The result of the run that each output of the region is, or -1 for one that
  // has to stay out of the way of an argument.
  std::vector<int> results;
  // What its own plan may overwrite: (parameter, result) of the region.
  Donations donated;
};

// One entry for each region; nothing for those that are not final. `donated`
// are parameters and results of the entry that share memory.
std::vector<std::optional<FinalRegion>> find_final_regions(
    const FlatGraph& graph, const Donations& donated);

}  // namespace weft
