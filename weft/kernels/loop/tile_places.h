// Places in memory that a loop kernel reads and writes, by dtype and number.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/tensor/dtype.h"

namespace weft {

inline std::byte* element(void* base, DType dtype, std::int64_t index) {
  return static_cast<std::byte*>(base) +
         static_cast<std::size_t>(index) * size_of(dtype);
}

inline std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Room for `size` elements: 16 are whole vectors for any type and machine.
inline std::int64_t whole_vectors(std::int64_t size) {
  return ceil_divide(std::max<std::int64_t>(size, 1), 16) * 16;
}

// Writes the first number of a tile into the others.
inline void repeat_first(void* tile, DType dtype, std::int64_t size) {
  dispatch(dtype, [&]<class T>(T) {
    auto* numbers = static_cast<T*>(tile);
    std::fill_n(numbers, size, *numbers);
  });
}

}  // namespace weft
