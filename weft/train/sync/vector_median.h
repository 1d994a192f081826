// A vector that most of m vectors are near to: any one with more than m / 2 of
// them within a radius. Candidates are tried one after the other, the one that
// was found last first, and then in an order drawn for the step: while most
// vectors are within a ball of half the radius, each of them is found to do, so
// that two trials are expected at most (Alistarh, Allen-Zhu and Li, "Byzantine
// Stochastic Gradient Descent", NeurIPS 2018, algorithm 1, lines 4 and 5).
//
// Threads: caller synchronises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

class VectorMedian {
 public:
  // `stream` tells the draws of several apart.
  VectorMedian(std::size_t vectors, std::uint64_t seed, std::uint32_t stream);

  // Begins the search of a step.
  void begin(std::int64_t step);
  bool is_over() const { return is_found_ || tried_ > vectors_; }
  bool is_found() const { return is_found_; }
  // Whom to measure distances to.
  std::size_t candidate() const { return candidate_; }
  // Squared distances of all to the candidate, and of the radius. Goes on to
  // the next one unless more than half are near.
  void look(std::span<const double> squared, double radius_squared);
  // Those to the one that was found.
  const std::vector<double>& squared_distances() const { return squared_; }

  // The one that was found last, for checkpoints.
  std::size_t last() const { return last_; }
  void set_last(std::size_t last) { last_ = last; }

 private:
  std::size_t vectors_;
  std::uint64_t seed_;
  std::uint32_t stream_;
  std::int64_t step_ = 0;
  std::size_t last_ = 0;
  std::size_t candidate_ = 0;
  std::size_t tried_ = 0;  // of the order drawn, and the last one before
  bool is_found_ = false;
  std::vector<double> squared_;
};

}  // namespace weft
