// Texts of TOML, as recipes and what is written like them are.
//
// Threads: pure functions.
#pragma once

#include <string_view>
#include <toml++/toml.h>

namespace weft {

// Throws Error(kInvalidArgument) with `where`, the line and the column for what
// is no TOML.
toml::table parse_toml(std::string_view text, std::string_view where);

}  // namespace weft
