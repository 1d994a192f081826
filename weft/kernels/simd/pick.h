// Elements of a row that indices name.
//
// Threads: pure functions.
#pragma once

#include <cstdint>

namespace weft {

// y[i] = row[indices[i]] for i < count, of a row of `size` < 2^31 elements.
// Negative indices count from the end; what lies outside is clamped into the
// row.
//
// Zen 4 and its like gather slower than they load one by one, as long as all
// lies in a cache. Where rows, indices and results come from memory and go to
// it (`is_far`), gathering is the faster way: few instructions leave room for
// more loads that wait.
void pick(const std::uint32_t* row, const std::int64_t* indices,
          std::uint32_t* y, std::int64_t count, std::int64_t size,
          bool is_far) noexcept;

}  // namespace weft
