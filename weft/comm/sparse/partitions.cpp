#include "weft/comm/sparse/partitions.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {

Partitions Partitions::even(std::uint64_t size, int parts) {
  WEFT_CHECK(parts > 0);
  // The last part takes the remainder; with fewer elements than parts it is the
  // only one that has any.
  const auto step = size / static_cast<std::uint64_t>(parts);
  std::vector<std::uint64_t> ends;
  for (int i = 1; i < parts; ++i) {
    ends.push_back(step * static_cast<std::uint64_t>(i));
  }
  ends.push_back(size);
  return Partitions(std::move(ends));
}

Partitions::Partitions(std::vector<std::uint64_t> ends)
    : ends_(std::move(ends)) {
  // Equal ends are parts without elements, which a skewed cut may well have.
  WEFT_CHECK(std::ranges::is_sorted(ends_));
}

std::uint64_t Partitions::largest() const {
  std::uint64_t most = 0;
  for (int i = 0; i < count(); ++i) most = std::max(most, size(i));
  return most;
}

}  // namespace weft
