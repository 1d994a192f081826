// Reference kernels of the heavy ops compute on plain arrays of double: they
// are the definition, so they must be easy to read and exact enough.
#pragma once

#include <vector>

#include "weft/ops/support/elementwise.h"

namespace weft {

// A copy of the elements in row-major order.
template <class Number>
std::vector<Number> to_numbers(const TensorView& view) {
  std::vector<Number> values(static_cast<std::size_t>(view.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load_as<Number>(view, static_cast<std::int64_t>(i));
  }
  return values;
}
std::vector<double> to_doubles(const TensorView& view);

// Rounds each to the dtype of `view`, which has as many elements; of integers
// it keeps the low bits.
template <class Number>
void from_numbers(const std::vector<Number>& values, const TensorView& view) {
  // More values than elements would be written beyond the tensor.
  WEFT_CHECK(static_cast<std::int64_t>(values.size()) == view.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    store_as(view, static_cast<std::int64_t>(i), values[i]);
  }
}
void from_doubles(const std::vector<double>& values, const TensorView& view);

}  // namespace weft
