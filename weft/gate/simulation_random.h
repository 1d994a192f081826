// Random numbers of a simulation, one stream for each history.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/base/philox.h"

namespace weft {

// As the distributions of the standard library take it.
class HistoryRandom {
 public:
  using result_type = std::uint64_t;

  HistoryRandom(std::uint64_t seed, std::int64_t history)
      : stream_{seed, static_cast<std::uint32_t>(history),
                static_cast<std::uint32_t>(history >> 32)} {}

  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() {
    return std::numeric_limits<std::uint64_t>::max();
  }
  std::uint64_t operator()() {
    if (next_ % 2 == 0) block_ = stream_.block(next_ / 2);
    const std::size_t half = 2 * (next_++ % 2);
    return std::uint64_t{block_[half]} << 32 | block_[half + 1];
  }

 private:
  RandomStream stream_;
  PhiloxBlock block_{};
  std::uint64_t next_ = 0;
};

}  // namespace weft
