// What a profile comes to: for each kernel how often it ran, how long, and how
// near it came to what the machine can do; how much of the time threads waited.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/base/profile.h"
#include "weft/kernels/simd/machine_roof.h"

namespace weft {

struct SpanTotal {
  std::string name;
  std::string category;
  std::string detail;
  std::int64_t calls = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
};

struct ProfileTotals {
  std::vector<SpanTotal> spans;  // those that took longest first
  std::vector<SpanTotal> messages;
  double seconds = 0;      // from the first begin to the last end
  double most_bytes = 0;   // of memory that tensors held
  double arena_bytes = 0;  // the largest that a plan asked for
};
ProfileTotals totals_of(std::span<const ProfileEvent> events);

// The share of the roof: of multiply-adds or of memory, whichever is nearer.
// It is above 1 where caches hold what is read, and where a kernel takes fewer
// multiplications than its op is defined by, as `simd:winograd` does.
double share_of_roof(const SpanTotal& total, const MachineRoof& roof);
// A sentence that says the latter, if it is so of any kernel; else "".
std::string above_roof_text(const ProfileTotals& totals,
                            const MachineRoof& roof);

// A table for people; of the kernels the first `most`.
std::string profile_text(const ProfileTotals& totals, const MachineRoof& roof,
                         std::size_t most = 20);

}  // namespace weft
