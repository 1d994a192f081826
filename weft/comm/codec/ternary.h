// Values of -1, 0 and 1, five to a byte (base 3^5), and the removal of runs of
// zeros among such bytes (Lim, Andersen and Kaminsky, "3LC: lightweight and
// effective traffic compression for distributed machine learning", MLSys
// 2019).
//
// n values are cut into five parts of L = ceil(n / 5); byte j holds the j-th
// of each part, as the number whose base-3 digits are the values plus one,
// first part first. The last part is filled up with zeros.
//
// A byte is at most 242, and five zeros are 121. A run of 2 to 14 such bytes
// becomes one byte of 243 to 255; longer runs are cut into pieces of 14.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "weft/comm/codec/bytes.h"

namespace weft {

constexpr std::size_t ternary_bytes(std::size_t values) {
  return (values + 4) / 5;
}

// values[i] = scale times the i-th ternary value. False if a byte is above
// 242.
bool unpack_ternary(std::span<const std::byte> packed, float scale,
                    std::span<float> values);

// Removes runs of zeros in place; returns how many bytes remain.
std::size_t shorten_zero_runs(std::span<std::byte> bytes);
// Fills `bytes`. False if `shortened` holds more or less than that.
bool expand_zero_runs(std::span<const std::byte> shortened,
                      std::span<std::byte> bytes);

}  // namespace weft
