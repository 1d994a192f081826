// Plain f32 values in a message.
//
// Threads: pure functions.
#pragma once

#include <span>

#include "weft/comm/codec/bytes.h"

namespace weft {

// Fills `values`. Throws Error(kDataLoss) if one is not finite: no sender
// sends such.
void read_floats(ByteReader& in, std::span<float> values);
// One value. Throws Error(kDataLoss) naming `field` if it is not finite.
float read_finite(ByteReader& in, std::string_view field);

}  // namespace weft
