// The samples of another problem, each with a gradient of -1 at all of its
// entries: at a rate of 1 every entry of x then counts the additions to it, and
// those that are missing were lost.
//
// Threads: immutable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

#include "weft/concurrent/sgd/problem.h"

namespace weft::concurrent {

// The counts are exact in f64.
class Counting final : public SgdProblem<double> {
 public:
  // `samples` of any number type gives the supports; it must outlive this.
  template <class Number>
  explicit Counting(const SgdProblem<Number>& samples)
      : dimensions_(samples.dimensions()),
        source_(&samples),
        sample_([](const void* source, std::uint64_t iteration) {
          return static_cast<const SgdProblem<Number>*>(source)->sample(
              iteration);
        }),
        support_([](const void* source, std::uint64_t sample) {
          return static_cast<const SgdProblem<Number>*>(source)->support(
              sample);
        }) {}

  std::uint32_t dimensions() const override { return dimensions_; }
  std::uint64_t sample(std::uint64_t iteration) const override {
    return sample_(source_, iteration);
  }
  std::span<const std::uint32_t> support(std::uint64_t sample) const override {
    return support_(source_, sample);
  }
  void gradient(std::uint64_t, std::span<const double>,
                std::span<double> result) const override {
    std::fill(result.begin(), result.end(), -1.0);
  }
  // The additions that are there.
  double loss(std::span<const double> x) const override {
    return std::accumulate(x.begin(), x.end(), 0.0);
  }

 private:
  std::uint32_t dimensions_;
  const void* source_;
  std::uint64_t (*sample_)(const void*, std::uint64_t);
  std::span<const std::uint32_t> (*support_)(const void*, std::uint64_t);
};

}  // namespace weft::concurrent
