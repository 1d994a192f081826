// Which rank computes what of a graph that runs on several.
//
//   RankPlacement placement = parse_placement("leaf=1 combine=2", 3);
//   placement.layers["decoder/attention"] = 1;
//   placement.arguments = {0, RankPlacement::kEverywhere};
//
// The placement is no part of the graph: the same one is split differently for
// another number of ranks, and its text needs no annotations.
//
// A function takes with it what is made from it: its branches, its loops, its
// gradient. A layer (LayerScope, graph/location.h) takes its ops wherever they
// stand; where both say something, the layer counts. What neither names is
// computed where most bytes of its operands are made: the sums of a gradient
// stay with what they are the gradient of.
//
// Threads: a value type.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

struct RankPlacement {
  static constexpr int kEverywhere = -1;
  static constexpr int kWhereDataAre = -1;

  int ranks = 1;
  std::map<std::string, int, std::less<>> functions = {};  // by name
  std::map<std::string, int, std::less<>> layers = {};     // by path
  // All else: a rank, or where its data are.
  int others = kWhereDataAre;
  // The rank that is given each argument of the entry, and the one that gets
  // each of its results; or kEverywhere. Those not listed are rank 0's. An
  // argument is sent to other ranks that read it, in every run.
  std::vector<int> arguments = {};
  std::vector<int> results = {};

  // The rank of an op of that function; kWhereDataAre if nothing places it.
  int rank_of(std::string_view function, const Location& location) const;
  int rank_of_argument(std::size_t index) const;
  int rank_of_result(std::size_t index) const;
};

// Throws Error(kInvalidArgument) if a rank does not exist, or the graph has no
// function or layer that a name stands for.
void check(const RankPlacement& placement, const Graph& graph);

// "leaf=1 layer:decoder/attention=2 *=0": functions, layers, and all else.
// Throws Error(kInvalidArgument).
RankPlacement parse_placement(std::string_view text, int ranks);

}  // namespace weft
