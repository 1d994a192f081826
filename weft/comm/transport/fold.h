// What becomes of a message's bytes besides being copied.
#pragma once

#include <cstddef>

namespace weft {

// Combines a message with what is at `into`, such as by adding. It may be given
// in pieces, none of which splits 16 bytes.
using Fold = void (*)(const std::byte* from, std::byte* into,
                      std::size_t bytes);

}  // namespace weft
