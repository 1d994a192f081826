#include "weft/train/sync/vector_median.h"

#include <algorithm>

#include "weft/base/permutation.h"

namespace weft {

VectorMedian::VectorMedian(std::size_t vectors, std::uint64_t seed,
                           std::uint32_t stream)
    : vectors_(vectors), seed_(seed), stream_(stream) {}

void VectorMedian::begin(std::int64_t step) {
  step_ = step;
  tried_ = 0;
  is_found_ = false;
  candidate_ = last_;
}

void VectorMedian::look(std::span<const double> squared,
                        double radius_squared) {
  if (is_over()) return;
  const auto near = static_cast<std::size_t>(std::ranges::count_if(
      squared, [&](double each) { return each <= radius_squared; }));
  if (2 * near > vectors_) {
    is_found_ = true;
    last_ = candidate_;
    squared_.assign(squared.begin(), squared.end());
    return;
  }
  const Permutation order(vectors_, seed_, stream_,
                          static_cast<std::uint32_t>(step_));
  do {
    if (++tried_ > vectors_) return;
    candidate_ = static_cast<std::size_t>(order(tried_ - 1));
  } while (candidate_ == last_);
}

}  // namespace weft
