// Whether a text is UTF-8, as names must be that messages repeat and files
// keep.
//
// Threads: a pure function.
#pragma once

#include <string_view>

namespace weft {

// No byte that begins nothing, nothing that is longer than need be, no half of
// a pair and nothing beyond the last character.
bool is_utf8(std::string_view text);

}  // namespace weft
