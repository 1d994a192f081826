// The K largest magnitudes of a tensor, by radix selection: the bits of a
// float without its sign are ordered as magnitudes are, so the K-th largest is
// found digit by digit from histograms, without sorting and without memory
// that grows with the tensor.
//
// Threads: pure functions; each runs on the caller's thread.
// Cost:    four passes over the values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// Appends the indices of the `count` values of largest magnitude, ascending;
// of equal ones, those of lower index. count <= values.size(); the values are
// finite.
void select_largest(std::span<const float> values, std::uint32_t count,
                    std::vector<std::uint32_t>& indices);

// Appends the indices of the values whose magnitude is at least `threshold`,
// ascending. One pass.
void select_from(std::span<const float> values, float threshold,
                 std::vector<std::uint32_t>& indices);
// How many there are. One pass.
std::uint32_t count_from(std::span<const float> values, float threshold);

}  // namespace weft
