#include "weft/validation/hyper_log_log.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft::validation {

void HyperLogLog::add(std::uint64_t hash) {
  std::uint8_t& place = registers_[hash >> (64 - kBits)];
  // A bit behind the last one ends the zeros.
  const std::uint64_t rest = hash << kBits | std::uint64_t{1} << (kBits - 1);
  place =
      std::max(place, static_cast<std::uint8_t>(std::countl_zero(rest) + 1));
}

void HyperLogLog::merge(const HyperLogLog& other) {
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    registers_[i] = std::max(registers_[i], other.registers_[i]);
  }
}

double HyperLogLog::estimate() const {
  const auto m = static_cast<double>(registers_.size());
  double sum = 0;
  double empty = 0;
  for (const std::uint8_t place : registers_) {
    sum += std::ldexp(1.0, -place);
    if (place == 0) ++empty;
  }
  const double alpha = 0.7213 / (1 + 1.079 / m);
  const double raw = alpha * m * m / sum;
  // While many registers are empty, their number says more.
  if (raw <= 2.5 * m && empty > 0) return m * std::log(m / empty);
  return raw;
}

HyperLogLog HyperLogLog::read(StateReader& in) {
  HyperLogLog sketch;
  const std::size_t due = sketch.registers_.size();
  sketch.registers_ = in.list<std::uint8_t>();
  if (sketch.registers_.size() != due) in.fail("a sketch has another size");
  return sketch;
}

}  // namespace weft::validation
