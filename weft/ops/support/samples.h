// Shorthand for the samples of property tests.
#pragma once

#include "weft/graph/op.h"

namespace weft {

inline InputSample floats(const Shape& shape, double low = -1, double high = 1,
                          DType dtype = DType::kF32) {
  return {{dtype, shape}, low, high};
}
inline InputSample integers(const Shape& shape, std::int64_t low,
                            std::int64_t high, DType dtype = DType::kI32) {
  return {{dtype, shape},
          static_cast<double>(low),
          static_cast<double>(high),
          false};
}
inline InputSample bools(const Shape& shape) {
  return {{DType::kBool, shape}, 0, 1, false};
}
// Valid indices of an axis of `size`.
inline InputSample indices(const Shape& shape, std::int64_t size,
                           DType dtype = DType::kI64) {
  return integers(shape, 0, size - 1, dtype);
}
// What random ops take: (seed, step).
inline InputSample random_key() {
  return integers({2}, 1, 1 << 20, DType::kI64);
}
inline InputSample random_keys(Shape axes) {
  axes.push_back(2);
  return integers(axes, 1, 1 << 20, DType::kI64);
}

// Floats that are drawn under random keys, by `shape`, `stream` and `dtype`.
std::vector<OpSample> drawn_samples();
// One operand in [low, high]: ranks 0 to 4, empty, size one, other dtypes.
std::vector<OpSample> unary_samples(double low, double high);
// Two operands, with every way to broadcast.
std::vector<OpSample> binary_samples(double low, double high, double second_low,
                                     double second_high);
// The same over small integers.
std::vector<OpSample> integer_samples(std::int64_t low, std::int64_t high);
// Samples of floats, and others of small integers behind them: of two operands,
// or of one.
std::vector<OpSample> with_integers(std::vector<OpSample> samples);
std::vector<OpSample> with_integer_vectors(std::vector<OpSample> samples);

}  // namespace weft
