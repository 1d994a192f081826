// How many different hashes there were, in 4 KiB, to 1.6 %.
//
// Source: Flajolet, Fusy, Gandouet and Meunier, "HyperLogLog" (2007), figure 3;
// hashes of 64 bits need no correction for large counts.
//
// Threads: a value type.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/validation/state_bytes.h"

namespace weft::validation {

class HyperLogLog {
 public:
  void add(std::uint64_t hash);
  void merge(const HyperLogLog& other);
  double estimate() const;

  void write(StateWriter& out) const { out.list(registers_); }
  static HyperLogLog read(StateReader& in);

 private:
  static constexpr int kBits = 12;
  std::vector<std::uint8_t> registers_ =
      std::vector<std::uint8_t>(std::size_t{1} << kBits);
};

}  // namespace weft::validation
