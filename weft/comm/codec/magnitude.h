// Passes over whole tensors that several codecs share.
//
// Threads: pure functions; each runs on the caller's thread.
// Cost:    what memory gives.
#pragma once

#include <span>

namespace weft {

// max |values[i]|, 0 for none. Infinity or NaN if any value is not finite.
float largest_magnitude(std::span<const float> values);
// max |a[i] + b[i]| likewise.
float largest_magnitude(std::span<const float> a, std::span<const float> b);

// sum[i] += values[i].
void accumulate(std::span<const float> values, std::span<float> sum);

}  // namespace weft
