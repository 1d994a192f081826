// The page at `/`: models, load, latencies, and an input to try. It is one
// text, which asks the server what it shows.
#pragma once

#include <string_view>

namespace weft::serve {

std::string_view page();

}  // namespace weft::serve
