// A profile as a part of a page: what took longest, as a table with bars, and
// threads over time.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string>

#include "weft/base/profile.h"
#include "weft/runtime/profile_totals.h"

namespace weft::drawing {

// HTML without scripts. Of the spans in the picture the longest kMostSpans are
// drawn, and what is left out is said.
std::string profile_html(std::span<const ProfileEvent> events,
                         const ProfileTotals& totals, const MachineRoof& roof);

inline constexpr std::size_t kMostSpans = 4000;

}  // namespace weft::drawing
