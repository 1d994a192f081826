// Values in the order in which they lie on smooth curves, and the map back.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/comm/codec/bytes.h"

namespace weft {

// Positions of `values` by descending magnitude, those without a minus sign
// first, equal ones by position.
struct SortedBySign {
  std::vector<std::uint32_t> order;
  std::size_t positives = 0;  // without a minus sign
};
SortedBySign sort_by_sign(std::span<const float> values);

// Positions of `values` by ascending magnitude, equal ones by position.
std::vector<std::uint32_t> sort_by_magnitude(std::span<const float> values);

// The place of each position in `order`, a permutation of 0 … n-1, in
// ceil(log2 n) bits each.
void write_places(std::span<const std::uint32_t> order, ByteWriter& out);
// The place of each of `count` positions. Throws Error(kDataLoss) unless they
// are a permutation.
std::vector<std::uint32_t> read_places(ByteReader& in, std::size_t count);

}  // namespace weft
