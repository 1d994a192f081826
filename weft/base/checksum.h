// A number that tells bytes apart which differ by mistake, as fast as memory
// gives them.
//
// It is the same on all machines. It is no digest: whoever may choose the bytes
// can make two that agree (libraries/sha256.h).
//
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "weft/base/file.h"

namespace weft {

// Bytes that differ within one word of 8 never agree; others do by a chance of
// 2^-64.
std::uint64_t checksum(ByteSpan bytes);

}  // namespace weft
