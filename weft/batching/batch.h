// Batching: graph in, graph out. One function over B instances computes what B
// runs of the function would, with large products in place of many small ones.
//
//   const std::array batched = {true, false};       // x differs, w is shared
//   const Batched all = batch(function, batched);
//
// Threads: pure functions.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

// What becomes of a result that the instances differ in.
enum class BatchMode {
  kStack,  // [dims…] to [B, dims…]
  kSum,    // [dims…], summed over the instances
};

struct Batched {
  Function function;
  // The symbol of the number of instances: "B", with a number behind it if
  // the function has a symbol of that name.
  Dim size;
  // For each result, whether it has the batch as its leading axis. A result
  // that is summed has not; nor has one that no batched parameter reaches,
  // under kStack. Under kSum such a result is B times what one instance has.
  std::vector<bool> is_stacked;
};

// The function over B instances. Parameters of type dtype[dims…] for which
// `batched_parameters` holds become dtype[B, dims…]; all instances share the
// others. `modes` has one entry per result; empty stands for kStack.
//
// Only what the results need is computed. A sum is folded into the ops that
// lead to it wherever these are linear.
//
// Throws Error(kUnsupported) naming the op that cannot be batched, with the
// reason; Error(kInvalidArgument) if no parameter is batched, or the lists do
// not fit the function.
Batched batch(const Function& function,
              std::span<const bool> batched_parameters,
              std::span<const BatchMode> modes = {});

struct BatchedGraph {
  Graph graph;
  std::string entry;  // the function over B instances
  std::vector<bool> is_stacked;
};

// The same for a function that may branch, loop and call (batching/control.h),
// with all that it runs; results are stacked. Throws as above, also for what no
// instance would run.
BatchedGraph batch(const Graph& graph, std::string_view entry,
                   const std::vector<bool>& batched_parameters);

}  // namespace weft
