// A graph as a picture: each function in layers, coloured by what its nodes do,
// with types and attributes where one points at them.
//
// Threads: a pure function.
#pragma once

#include <string>

#include "weft/graph/function.h"

namespace weft::drawing {

// An SVG document by itself, without scripts. Of a function with more than
// kMostNodes nodes it says only how many there are.
std::string graph_svg(const Graph& graph);

inline constexpr std::size_t kMostNodes = 2000;

}  // namespace weft::drawing
