// How a vector is cut up among ranks.
//
// Threads: value types.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
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

// Adjacent intervals, one per rank, of any sizes. Those of nearly equal sizes
// take no list, as each of many ranks cuts its vectors anew for each operation.
class Parts {
 public:
  // The i-th has sizes[i] elements.
  static Parts of_sizes(const std::vector<std::size_t>& sizes) {
    std::vector<std::size_t> bounds = {0};
    for (const std::size_t size : sizes) bounds.push_back(bounds.back() + size);
    Parts parts({0, bounds.back()}, static_cast<int>(sizes.size()));
    parts.bounds_ =
        std::make_shared<const std::vector<std::size_t>>(std::move(bounds));
    return parts;
  }
  // Cuts into sizes that differ by at most one, the larger first; count >= 1.
  static Parts near_equal(Interval whole, int count) {
    WEFT_CHECK(count > 0);
    Parts parts(whole, count);
    parts.smaller_ = whole.size() / static_cast<std::size_t>(count);
    parts.larger_ = whole.size() % static_cast<std::size_t>(count);
    return parts;
  }

  int count() const { return count_; }
  Interval whole() const { return whole_; }
  Interval operator[](int index) const {
    const auto i = static_cast<std::size_t>(index);
    return {bound(i), bound(i + 1)};
  }
  // From a part on, counted around the end.
  Interval cyclic(int index) const {
    const int n = count();
    return (*this)[(index % n + n) % n];
  }

 private:
  Parts(Interval whole, int count) : whole_(whole), count_(count) {}
  std::size_t bound(std::size_t i) const {
    return bounds_ == nullptr
               ? whole_.begin + i * smaller_ + std::min(i, larger_)
               : (*bounds_)[i];
  }

  Interval whole_;
  int count_;
  std::size_t smaller_ = 0;  // the smaller of the two sizes,
  std::size_t larger_ = 0;   // and how many parts have one element more
  std::shared_ptr<const std::vector<std::size_t>> bounds_;  // of any sizes
};

}  // namespace weft
