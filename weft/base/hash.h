// Hashes of what consists of parts, for tables in memory: they differ between
// builds, and are neither stored nor sent.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// The hash of what `seed` has taken in so far, and `value` behind it. Both
// halves of the product mix, so that low bits, by which tables look up, depend
// on all bits of all parts.
inline std::size_t hash_with(std::size_t seed, std::uint64_t value) {
  std::uint64_t hash = (seed ^ value) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
  return static_cast<std::size_t>(hash);
}

}  // namespace weft
