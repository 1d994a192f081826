// Many blocks of a random stream at once.
#pragma once

#include "weft/base/philox.h"

namespace weft {

// Blocks computed together: enough to fill the widest vectors.
inline constexpr int kPhiloxBlocks = 16;
inline constexpr int kPhiloxWords = 4 * kPhiloxBlocks;

// Words [first * 4, first * 4 + kPhiloxWords) of the stream. `first` is a
// multiple of kPhiloxBlocks.
void philox_blocks(const RandomStream& stream, std::uint64_t first,
                   std::uint32_t* words);

}  // namespace weft
