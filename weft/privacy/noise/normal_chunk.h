// A few thousand normals at once, of double, added and rounded to a grid.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::privacy {

// A multiple of this many.
inline constexpr std::size_t kNormalsAtOnce = 16;

// values[i] + deviation times a normal, rounded to the nearest multiple of
// `grid`; words are as many random ones, of which a pair makes two normals.
void add_normals(const std::uint64_t* words, float* values, std::size_t count,
                 double deviation, double grid);

}  // namespace weft::privacy
