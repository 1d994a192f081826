// Ranks of a simulated cluster that are lost at given moments: "3@10s, 5@20s".
//
// Threads: pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weft {

// Seconds of the virtual clock, by rank. Throws Error(kInvalidArgument) with
// the part of the text that is no rank@time, for a rank that `ranks` has not or
// that is lost twice.
std::map<int, double> parse_failures(std::string_view text, int ranks);

}  // namespace weft
