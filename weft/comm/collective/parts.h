// How a vector is cut up among ranks.
//
// Threads: value types.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/base/error.h"

namespace weft {

// Elements [begin, end).
struct Interval {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

// Adjacent intervals, one per rank, of any sizes.
class Parts {
 public:
  // The i-th has sizes[i] elements.
  static Parts of_sizes(const std::vector<std::size_t>& sizes) {
    Parts parts;
    for (const std::size_t size : sizes) {
      parts.bounds_.push_back(parts.bounds_.back() + size);
    }
    return parts;
  }
  // Cuts into sizes that differ by at most one, the larger first; count >= 1.
  static Parts near_equal(Interval whole, int count) {
    WEFT_CHECK(count > 0);
    Parts parts;
    parts.bounds_[0] = whole.begin;
    const auto n = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t size =
          whole.size() / n + (i < whole.size() % n ? 1 : 0);
      parts.bounds_.push_back(parts.bounds_.back() + size);
    }
    return parts;
  }

  int count() const { return static_cast<int>(bounds_.size()) - 1; }
  Interval whole() const { return {bounds_.front(), bounds_.back()}; }
  Interval operator[](int index) const {
    const auto i = static_cast<std::size_t>(index);
    return {bounds_[i], bounds_[i + 1]};
  }
  // From a part on, counted around the end.
  Interval cyclic(int index) const {
    const int n = count();
    return (*this)[(index % n + n) % n];
  }

 private:
  std::vector<std::size_t> bounds_ = {0};
};

}  // namespace weft
