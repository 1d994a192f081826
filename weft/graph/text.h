// The text form of graphs: what to_string prints, parse_graph reads back to
// the same graph.
//
//   func @scale(%0 "x": f32[N, 4], %1 "w": f32[4]) -> (f32[N, 4]) {
//     %2 = multiply(%0, %1) : f32[N, 4]
//     %3 = sum(%2) {axes = [1], keep_dims = true} : f32[N, 1]
//     return %2
//   }
//
// '#' starts a comment. Attributes that have their default may be left out
// when reading. Locations are not part of the text.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph/function.h"

namespace weft {

std::string to_string(const Function& function, const Node& node);
std::string to_string(const Function& function);
std::string to_string(const Graph& graph);

// Reads functions and checks them. `source` names the text in errors.
// Throws Error(kInvalidArgument) with line and column.
Graph parse_graph(std::string_view text, std::string_view source = "graph");

}  // namespace weft
