// Lists of patterns, each of which is meant for some of the things that have
// names: "*.bias" for parameters.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Throws Error(kInvalidArgument) from `where` for a pattern (base/wildcard.h)
// that fits none of `names`, with the nearest one or, where none is near, some,
// and for a name that two of `patterns` fit. `kind` is what the names are:
// "parameter".
void check_patterns(const std::vector<std::string>& patterns,
                    const std::vector<std::string>& names,
                    std::string_view kind, std::string_view where);

}  // namespace weft
