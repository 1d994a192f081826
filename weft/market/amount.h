// Money and shares: whole numbers, never rounded unseen and never overflowing.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::market {

using Amount = std::int64_t;

// No sum of money, of shares or of usage goes beyond, so that two of them can
// be added and every reader of JSON takes them exactly.
inline constexpr Amount kMostAmount = (std::int64_t{1} << 53) - 1;

// a + b of numbers from 0 to kMostAmount. Throws Error(kInvalidArgument) with
// `what` where that is more than there may be.
Amount sum_of(Amount a, Amount b, const char* what);

// floor(amount · numerator / denominator), with a product that does not
// overflow. Throws as sum_of().
Amount scaled(Amount amount, Amount numerator, Amount denominator,
              const char* what);

// Parts of `total` in proportion to `weights`, which are not negative and not
// all 0: by largest remainder (Hamilton's method), the earlier of two equal
// remainders first. The parts add up to `total`.
std::vector<Amount> split_by(Amount total, std::span<const Amount> weights);

}  // namespace weft::market
