#include "weft/budget/date_text.h"

#include <cstdio>
#include <ctime>
#include <fmt/chrono.h>

#include "weft/base/error.h"

namespace weft {

std::string date_text(std::int64_t microseconds) {
  return fmt::format(
      "{:%Y-%m-%d %H:%M:%S} UTC",
      fmt::gmtime(static_cast<std::time_t>(microseconds / 1'000'000)));
}

std::int64_t parse_date(std::string_view text) {
  const std::string date(text);
  std::tm moment{};
  int read = 0;
  const auto is_read = [&](const char* format) {
    read = 0;
    std::sscanf(date.c_str(), format, &moment.tm_year, &moment.tm_mon,
                &moment.tm_mday, &moment.tm_hour, &moment.tm_min,
                &moment.tm_sec, &read);
    return read == static_cast<int>(date.size());
  };
  const bool is_day =
      std::sscanf(date.c_str(), "%4d-%2d-%2d%n", &moment.tm_year,
                  &moment.tm_mon, &moment.tm_mday, &read) == 3 &&
      read == static_cast<int>(date.size());
  const bool is_moment = !is_day && (is_read("%4d-%2d-%2d %2d:%2d:%2d%n") ||
                                     is_read("%4d-%2d-%2d %2d:%2d:%2d UTC%n"));
  moment.tm_year -= 1900;
  moment.tm_mon -= 1;
  const std::tm given = moment;
  const std::time_t seconds = timegm(&moment);
  // timegm() makes the 2nd of March of a 30th of February.
  const bool is_there =
      given.tm_year == moment.tm_year && given.tm_mon == moment.tm_mon &&
      given.tm_mday == moment.tm_mday && given.tm_hour == moment.tm_hour &&
      given.tm_min == moment.tm_min && given.tm_sec == moment.tm_sec;
  if ((!is_day && !is_moment) || !is_there) {
    throw Error(ErrorCode::kInvalidArgument, "date", "'{}' is no date", text)
        .hint("2027-01-31, or 2027-01-31 12:30:00, in UTC");
  }
  return static_cast<std::int64_t>(seconds) * 1'000'000;
}

}  // namespace weft
