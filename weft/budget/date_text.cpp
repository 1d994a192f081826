#include "weft/budget/date_text.h"

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
  const auto is_read = [&](const char* format) {
    moment = {};
    const char* end = strptime(date.c_str(), format, &moment);
    return end != nullptr && *end == '\0';
  };
  const bool is_date = is_read("%Y-%m-%d") || is_read("%Y-%m-%d %H:%M:%S") ||
                       is_read("%Y-%m-%d %H:%M:%S UTC");
  const std::tm given = moment;
  const std::time_t seconds = timegm(&moment);
  // timegm() makes the 2nd of March of a 30th of February.
  const bool is_there =
      given.tm_year == moment.tm_year && given.tm_mon == moment.tm_mon &&
      given.tm_mday == moment.tm_mday && given.tm_hour == moment.tm_hour &&
      given.tm_min == moment.tm_min && given.tm_sec == moment.tm_sec;
  if (!is_date || !is_there) {
    throw Error(ErrorCode::kInvalidArgument, "date", "'{}' is no date", text)
        .hint("2027-01-31, or 2027-01-31 12:30:00, in UTC");
  }
  return static_cast<std::int64_t>(seconds) * 1'000'000;
}

}  // namespace weft
