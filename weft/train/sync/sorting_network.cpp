#include "weft/train/sync/sorting_network.h"

#include <algorithm>

namespace weft {
namespace {

// All of them: for any size, those of the next power of two without the ones
// that reach beyond (Knuth, "The Art of Computer Programming", volume 3,
// section 5.2.2, algorithm M).
std::vector<SortingNetwork::Comparison> whole(std::size_t size) {
  std::vector<SortingNetwork::Comparison> all;
  for (std::size_t run = 1; run < size; run *= 2) {
    for (std::size_t step = run; step >= 1; step /= 2) {
      for (std::size_t begin = step % run; begin + step < size;
           begin += 2 * step) {
        for (std::size_t i = begin; i < std::min(begin + step, size - step);
             ++i) {
          if (i / (2 * run) == (i + step) / (2 * run)) {
            all.emplace_back(i, i + step);
          }
        }
      }
    }
  }
  return all;
}

}  // namespace

SortingNetwork::SortingNetwork(std::size_t size, std::size_t first,
                               std::size_t last)
    : comparisons_(whole(size)) {
  // From the last one back: a comparison counts if somebody looks at what it
  // leaves.
  std::vector<bool> is_wanted(size);
  std::fill(is_wanted.begin() + static_cast<std::ptrdiff_t>(first),
            is_wanted.begin() + static_cast<std::ptrdiff_t>(last), true);
  std::vector<Comparison> kept;
  for (auto each = comparisons_.rbegin(); each != comparisons_.rend(); ++each) {
    const auto [low, high] = *each;
    if (!is_wanted[low] && !is_wanted[high]) continue;
    is_wanted[low] = is_wanted[high] = true;
    kept.push_back(*each);
  }
  std::ranges::reverse(kept);
  comparisons_ = std::move(kept);
}

}  // namespace weft
