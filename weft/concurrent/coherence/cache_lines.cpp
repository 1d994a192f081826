#include "weft/concurrent/coherence/cache_lines.h"

#include <algorithm>
#include <cstddef>

namespace weft::concurrent {

std::uint32_t CacheLines::find(std::uintptr_t number) {
  // At most half of the slots are taken, so probes are short.
  if (2 * (lines_.size() + 1) > slots_.size()) grow();
  std::uint32_t& slot = slots_[slot_of(number)];
  if (slot == 0) {
    lines_.emplace_back().number = number;
    slot = static_cast<std::uint32_t>(lines_.size());
  }
  return slot - 1;
}

std::size_t CacheLines::slot_of(std::uintptr_t number) const {
  const std::size_t mask = slots_.size() - 1;
  // Fibonacci hashing: neighbours spread, and the high bits are the good ones.
  std::size_t at = (number * 0x9e3779b97f4a7c15U >> 20U) & mask;
  while (slots_[at] != 0 && lines_[slots_[at] - 1].number != number)
    at = (at + 1) & mask;
  return at;
}

void CacheLines::grow() {
  slots_.assign(std::max<std::size_t>(1024, 2 * slots_.size()), 0);
  for (std::size_t i = 0; i < lines_.size(); ++i)
    // Lines keep their indices, which callers hold; only the table is new.
    slots_[slot_of(lines_[i].number)] = static_cast<std::uint32_t>(i + 1);
}

}  // namespace weft::concurrent
