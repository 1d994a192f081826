// Puts other nodes in the place of some of a function's: what every
// substitution in a graph comes down to.
//
// Threads: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weft/graph/builder.h"

namespace weft {

// The new value for one of the old function.
using NewValue = std::function<Value(ValueId)>;

struct Replacement {
  std::vector<NodeId> nodes;  // that leave
  // Values of theirs that somebody else reads, and values from outside that
  // take their place: all that `make` asks for.
  std::vector<ValueId> results;
  std::vector<ValueId> inputs;
  // Calls ops in the context of the new function; returns a value for each of
  // `results`, of the same type.
  std::function<std::vector<Value>(const NewValue&)> make;
};

// The function with all of them in place; no node leaves with two. Nodes keep
// their order where what they read allows. What nobody reads any more is left
// out. Nothing where a replacement would wait for what waits for it. Takes
// time in proportion to the function.
std::optional<Function> replace_nodes(
    const Function& function, std::span<const Replacement> replacements);

}  // namespace weft
