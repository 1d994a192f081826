// Sorting by comparisons whose order does not depend on what is compared
// (Batcher, "Sorting networks and their applications", AFIPS 1968: odd-even
// merge sort), so that the lanes of vectors sort side by side.
//
// Threads: a value type.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace weft {

class SortingNetwork {
 public:
  // The comparisons of `size` values after which places [first, last) hold what
  // ascending order has there; those that no such place depends on are left
  // out. About size log²(size) / 4 of them.
  SortingNetwork(std::size_t size, std::size_t first, std::size_t last);

  // Each leaves the smaller value at its first place.
  using Comparison = std::pair<std::size_t, std::size_t>;
  const std::vector<Comparison>& comparisons() const { return comparisons_; }

 private:
  std::vector<Comparison> comparisons_;
};

}  // namespace weft
