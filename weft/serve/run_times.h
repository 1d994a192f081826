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

  // How many of these rows the next run should have, where rows are added until
  // their number is a power of two: all of them, or only as many as such a
  // power, where that computes more of them in a second. All where it is not
  // known how long both take.
  std::int64_t rows_that_pay(std::int64_t rows,
                             std::int64_t elements_of_row) const {
    const auto fewer = std::bit_floor(static_cast<std::uint64_t>(rows));
    const auto of = static_cast<std::uint64_t>(elements_of_row);
    const double with_all = expected(static_cast<std::int64_t>(2 * fewer * of));
    const double with_fewer = expected(static_cast<std::int64_t>(fewer * of));
    if (with_all == kUnknown) return rows;
    const bool pays = static_cast<double>(fewer) / with_fewer >
                      static_cast<double>(rows) / with_all;
    return pays ? static_cast<std::int64_t>(fewer) : rows;
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
