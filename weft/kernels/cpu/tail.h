// The fused tail of products and convolutions, for kernels that have none of
// their own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/base/parallel.h"

namespace weft {

// y[row, i] + bias[i], then max(…, 0) if asked for. `bias` may be null. NaN
// stays.
template <class T>
void add_tail(std::int64_t rows, std::int64_t columns, const T* bias,
              bool is_relu, T* y) noexcept {
  if (bias == nullptr && !is_relu) return;
  constexpr std::int64_t kLeast = 16 << 10;  // elements for a thread
  parallel_for(rows, std::max<std::int64_t>(1, kLeast / columns),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   T* values = y + row * columns;
                   for (std::int64_t i = 0; i < columns; ++i) {
                     T value = values[i];
                     if (bias != nullptr) value += bias[i];
                     // The comparison is false for NaN.
                     if (is_relu && value < 0) value = 0;
                     values[i] = value;
                   }
                 }
               });
}

}  // namespace weft
