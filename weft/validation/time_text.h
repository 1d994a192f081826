// Which texts and integers are times, and how they are written: formats as
// strptime(3) has them, told from the values themselves.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::validation {

struct TimeFormat {
  std::string name;  // "%Y-%m-%d", "unix_seconds"
  bool is_of_integers = false;
};

// Dates in eight orders, each alone or with a time of day behind; times of day;
// and integers. %S may have a fraction, %z is Z, +01:00 or +0100.
const std::vector<TimeFormat>& time_formats();

// The formats that a value is written in, as places in time_formats(): two
// where a day may be a month.
struct TimeFormatsOf {
  std::array<std::uint8_t, 2> places = {};
  std::size_t count = 0;
};

// Days must be days of the calendar; digits may lack their leading zeros, but
// for those of the year. A leap second is one.
TimeFormatsOf time_formats_of(std::string_view text);
// Counts since 1970 from the years 1990 to 2099, as others are rather something
// else, and dates of eight digits of the same years.
TimeFormatsOf time_formats_of(std::int64_t value);

// A moment in a format, with UTC for its zone. `seconds` since 1970.
std::string time_text(std::string_view format, std::int64_t seconds);

}  // namespace weft::validation
