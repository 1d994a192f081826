// How long runs of a model take, by the size of what goes in: the mean of late
// ones, for each power of two of elements.
//
// Threads: caller synchronises.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace weft::serve {

class RunTimes {
 public:
  RunTimes() { seconds_.fill(kUnknown); }

  void add(std::int64_t elements, double seconds) {
    double& mean = seconds_[power_of(elements)];
    mean = mean == kUnknown ? seconds : mean + (seconds - mean) * kWeight;
  }

  // How long a run with so many takes; infinity where none was seen.
  double expected(std::int64_t elements) const {
    return seconds_[power_of(elements)];
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();
  // The newest run counts so much: after some twenty, a disturbed one is
  // forgotten.
  static constexpr double kWeight = 1.0 / 8;

  static std::size_t power_of(std::int64_t elements) {
    return static_cast<std::size_t>(
        std::bit_width(static_cast<std::uint64_t>(elements)));
  }

  std::array<double, 65> seconds_;
};

}  // namespace weft::serve
