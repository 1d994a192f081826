// Short ways to write down small tensors and errors in tests.
#pragma once

#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "weft/ops/ops.h"

namespace weft::testing {

inline Value f32(const Shape& shape, std::initializer_list<float> values) {
  return Tensor::of<float>(shape, values);
}
inline Value i64(const Shape& shape,
                 std::initializer_list<std::int64_t> values) {
  return Tensor::of<std::int64_t>(shape, values);
}
inline Value boolean(const Shape& shape, std::initializer_list<bool> values) {
  return Tensor::of<bool>(shape, values);
}

// Every element as a double, NaN as -999, after "f32[2]".
inline std::pair<std::string, std::vector<double>> contents(const Value& v) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < v.tensor().size(); ++i) {
    const double value = v.tensor().item(i);
    values.push_back(std::isnan(value) ? -999 : value);
  }
  return {to_string(v.type()), values};
}

#define EXPECT_TENSOR(actual, expected) \
  EXPECT_EQ(contents(actual), contents(expected))

// What an expression throws, or "".
template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace weft::testing
