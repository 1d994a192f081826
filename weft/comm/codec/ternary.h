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
#include "weft/comm/codec/value_stream.h"

namespace weft {

constexpr std::size_t ternary_bytes(std::size_t values) {
  return (values + 4) / 5;
}

// Values first, first + 1, … of which there are `count`, at column `column`
// of part `part`.
struct TernaryPlace {
  std::size_t part;
  std::size_t column;
  std::size_t first;
  std::size_t count;
};

// Fills `packed`, ternary_bytes(values) bytes. quantize(place) returns a
// vector of -1, 0 and 1 as f32, with 0 behind `count`.
template <class Quantize>
void pack_ternary(std::size_t values, std::byte* packed, Quantize&& quantize) {
  namespace hn = simd::hn;
  constexpr float kOffset = 121;  // a one in each of five digits
  const hn::Rebind<std::int32_t, simd::Floats> integers;
  const std::size_t columns = ternary_bytes(values);
  ValueStream::for_each_vector(columns, [&](std::size_t column,
                                            std::size_t lanes) {
    auto digits = simd::broadcast(0);
    for (std::size_t part = 0; part < 5; ++part) {
      const std::size_t first = part * columns + column;
      const std::size_t left = first < values ? values - first : 0;
      auto digit = simd::broadcast(0);
      if (left > 0) {
        digit =
            quantize(TernaryPlace{part, column, first, std::min(lanes, left)});
      }
      digits = hn::MulAdd(digits, simd::broadcast(3), digit);
    }
    const auto code =
        hn::ConvertTo(integers, hn::Add(digits, simd::broadcast(kOffset)));
    store_codes(hn::DemoteTo(ByteCodes(), code), ByteCodes(), packed + column,
                lanes);
  });
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
