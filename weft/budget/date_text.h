// Moments of books as people write them, in UTC.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// "2027-01-31 12:30:00 UTC", of microseconds since 1970.
std::string date_text(std::int64_t microseconds);
// The other way round, of "2027-01-31", its first moment, or "2027-01-31
// 12:30:00", with or without " UTC" behind. Throws Error(kInvalidArgument) for
// anything else, and for days that are not.
std::int64_t parse_date(std::string_view text);

}  // namespace weft
