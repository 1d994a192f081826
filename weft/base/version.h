// What this is.
#pragma once

namespace weft {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace weft
