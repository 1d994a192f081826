// Count, mean and squared deviations of numbers that come in parts.
//
// Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm
// for computing sample variances" (1979), equations 2.1a and 2.1b; with weights
// in place of counts.
//
// Threads: a value type.
#pragma once

#include <span>

#include "weft/validation/state_bytes.h"

namespace weft::validation {

class Moments {
 public:
  // Each of `values` must be finite; `weights`, as many or none, above 0.
  void add(std::span<const double> values, std::span<const double> weights);
  void add(double value, double weight);
  void merge(const Moments& other);

  double weight() const { return weight_; }
  double mean() const { return mean_; }
  // The deviation of all that was seen, and not an estimate from a sample.
  double std() const;

  void write(StateWriter& out) const;
  static Moments read(StateReader& in);

 private:
  double weight_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace weft::validation
