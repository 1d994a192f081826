// Positions as containers count them.
//
// Threads: pure functions.
#pragma once

#include <concepts>
#include <cstddef>

namespace weft {

// `i` as an index of a container. Axes, ids and counts are signed here, as a
// missing one is -1 and differences of them mean something; containers count
// with unsigned numbers. `i` must not be negative.
template <std::signed_integral Integer>
constexpr std::size_t at(Integer i) {
  return static_cast<std::size_t>(i);
}

}  // namespace weft
