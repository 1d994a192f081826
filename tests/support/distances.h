// Distances between lists of numbers.
#pragma once

#include <span>

namespace weft::test {

inline double squared_norm(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += double{x} * x;
  return sum;
}

// ||a - b||^2
inline double squared_distance(std::span<const float> a,
                               std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - b[i];
    sum += difference * difference;
  }
  return sum;
}

}  // namespace weft::test
