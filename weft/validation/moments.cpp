#include "weft/validation/moments.h"

#include <cmath>

namespace weft::validation {

void Moments::add(std::span<const double> values,
                  std::span<const double> weights) {
  if (!weights.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i) add(values[i], weights[i]);
    return;
  }
  if (values.empty()) return;
  // Two passes over what lies in the cache are as exact as a mean that is
  // carried along, and need no division for each value.
  Moments part;
  part.weight_ = static_cast<double>(values.size());
  // Each is made small before it is added, so that large numbers do not add up
  // to infinity.
  const double share = 1 / part.weight_;
  double mean = 0;
#pragma omp simd reduction(+ : mean)
  for (std::size_t i = 0; i < values.size(); ++i) mean += values[i] * share;
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
  }
  part.mean_ = mean;
  part.squares_ = squares;
  merge(part);
}

void Moments::add(double value, double weight) {
  Moments part;
  part.weight_ = weight;
  part.mean_ = value;
  merge(part);
}

void Moments::merge(const Moments& other) {
  if (other.weight_ == 0) return;
  const double weight = weight_ + other.weight_;
  const double delta = other.mean_ - mean_;
  squares_ +=
      other.squares_ + delta * delta * (weight_ / weight) * other.weight_;
  mean_ += delta * (other.weight_ / weight);
  weight_ = weight;
}

double Moments::std() const {
  return weight_ == 0 ? 0 : std::sqrt(squares_ / weight_);
}

void Moments::write(StateWriter& out) const {
  for (const double value : {weight_, mean_, squares_}) out.number(value);
}

Moments Moments::read(StateReader& in) {
  Moments moments;
  for (double* value : {&moments.weight_, &moments.mean_, &moments.squares_}) {
    *value = in.number<double>();
  }
  return moments;
}

}  // namespace weft::validation
