#include "weft/validation/time_text.h"

#include <chrono>
#include <fmt/core.h>

namespace weft::validation {
namespace {

enum class DateOrder : std::uint8_t { kYearFirst, kMonthFirst, kDayFirst };

struct DateForm {
  DateOrder order;
  char separator;
  std::string_view format;
};

constexpr std::array<DateForm, 8> kDates = {{
    {DateOrder::kYearFirst, '-', "%Y-%m-%d"},
    {DateOrder::kYearFirst, '/', "%Y/%m/%d"},
    {DateOrder::kYearFirst, '.', "%Y.%m.%d"},
    {DateOrder::kMonthFirst, '-', "%m-%d-%Y"},
    {DateOrder::kMonthFirst, '/', "%m/%d/%Y"},
    {DateOrder::kDayFirst, '-', "%d-%m-%Y"},
    {DateOrder::kDayFirst, '/', "%d/%m/%Y"},
    {DateOrder::kDayFirst, '.', "%d.%m.%Y"},
}};
constexpr std::array<std::string_view, 3> kClocks = {"%H:%M", "%H:%M:%S",
                                                     "%H:%M:%S%z"};
// Behind each date: nothing, or a clock after a blank or a T.
constexpr std::size_t kPerDate = 1 + 2 * kClocks.size();
constexpr std::size_t kFirstClock = kDates.size() * kPerDate;
constexpr std::size_t kDateDigits = kFirstClock + kClocks.size();
constexpr std::array<std::string_view, 4> kUnix = {
    "unix_seconds", "unix_milliseconds", "unix_microseconds",
    "unix_nanoseconds"};
constexpr std::int64_t kFirstSecond = 631152000;  // of 1990
constexpr std::int64_t kLastSecond = 4102444800;  // behind 2099

std::vector<TimeFormat> make_formats() {
  std::vector<TimeFormat> formats;
  for (const DateForm& date : kDates) {
    formats.push_back({std::string(date.format)});
    for (const char between : {' ', 'T'}) {
      for (const std::string_view clock : kClocks) {
        formats.push_back({fmt::format("{}{}{}", date.format, between, clock)});
      }
    }
  }
  for (const std::string_view clock : kClocks) {
    formats.push_back({std::string(clock)});
  }
  formats.push_back({"%Y%m%d", true});
  for (const std::string_view each : kUnix) {
    formats.push_back({std::string(each), true});
  }
  return formats;
}

bool is_day(int year, int month, int day) {
  if (year < 1) return false;
  return std::chrono::year_month_day(
             std::chrono::year(year),
             std::chrono::month(static_cast<unsigned>(month)),
             std::chrono::day(static_cast<unsigned>(day)))
      .ok();
}

// A text that is read from its beginning.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : text_(text) {}

  bool is_at_end() const { return text_.empty(); }
  char next() const { return text_.empty() ? '\0' : text_[0]; }
  bool take(char c) {
    if (next() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // A number of at most `most` digits; false if there is none.
  bool number(std::size_t most, int* value, std::size_t* digits) {
    *value = 0;
    *digits = 0;
    while (*digits < most && next() >= '0' && next() <= '9') {
      *value = *value * 10 + (next() - '0');
      ++*digits;
      text_.remove_prefix(1);
    }
    return *digits > 0;
  }

 private:
  std::string_view text_;
};

// The place of the clock that `reader` is at the beginning of and ends with, or
// kClocks.size().
std::size_t clock_of(TimeReader& reader) {
  int value = 0;
  std::size_t digits = 0;
  if (!reader.number(2, &value, &digits) || value > 23) return kClocks.size();
  if (!reader.take(':') || !reader.number(2, &value, &digits) || value > 59) {
    return kClocks.size();
  }
  if (reader.is_at_end()) return 0;
  if (!reader.take(':') || !reader.number(2, &value, &digits) || value > 60) {
    return kClocks.size();
  }
  if (reader.take('.') && !reader.number(9, &value, &digits)) {
    return kClocks.size();
  }
  if (reader.is_at_end()) return 1;
  if (reader.take('Z')) return reader.is_at_end() ? 2 : kClocks.size();
  if (!reader.take('+') && !reader.take('-')) return kClocks.size();
  if (!reader.number(2, &value, &digits) || digits != 2) return kClocks.size();
  reader.take(':');
  if (!reader.number(2, &value, &digits) || digits != 2 || value > 59) {
    return kClocks.size();
  }
  return reader.is_at_end() ? 2 : kClocks.size();
}

bool fits(const DateForm& form, char separator,
          const std::array<int, 3>& numbers, bool is_year_first) {
  if (form.separator != separator) return false;
  if (is_year_first != (form.order == DateOrder::kYearFirst)) return false;
  switch (form.order) {
    case DateOrder::kYearFirst:
      return is_day(numbers[0], numbers[1], numbers[2]);
    case DateOrder::kMonthFirst:
      return is_day(numbers[2], numbers[0], numbers[1]);
    case DateOrder::kDayFirst:
      return is_day(numbers[2], numbers[1], numbers[0]);
  }
  return false;
}

}  // namespace

const std::vector<TimeFormat>& time_formats() {
  static const std::vector<TimeFormat> formats = make_formats();
  return formats;
}

TimeFormatsOf time_formats_of(std::string_view text) {
  // Most texts are told from times by how they begin and how long they are.
  constexpr std::size_t kShortest = 3;  // 0:00 without a zero
  constexpr std::size_t kLongest = 40;
  TimeFormatsOf found;
  if (text.size() <= kShortest || text.size() > kLongest || text[0] < '0' ||
      text[0] > '9') {
    return found;
  }
  const auto add = [&](std::size_t place) {
    found.places[found.count++] = static_cast<std::uint8_t>(place);
  };
  TimeReader reader(text);
  std::array<int, 3> numbers = {};
  std::array<std::size_t, 3> digits = {};
  reader.number(4, numbers.data(), digits.data());
  const char separator = reader.next();
  if (separator == ':') {
    TimeReader clock(text);
    const std::size_t place = clock_of(clock);
    if (place < kClocks.size()) add(kFirstClock + place);
    return found;
  }
  if (!reader.take(separator) || !reader.number(2, &numbers[1], &digits[1]) ||
      !reader.take(separator) || !reader.number(4, &numbers[2], &digits[2])) {
    return found;
  }
  const bool is_year_first = digits[0] == 4;
  if (is_year_first ? digits[2] > 2 : digits[0] > 2 || digits[2] != 4) {
    return found;
  }
  std::size_t behind = 0;
  if (!reader.is_at_end()) {
    const bool is_blank = reader.take(' ');
    if (!is_blank && !reader.take('T')) return found;
    const std::size_t place = clock_of(reader);
    if (place == kClocks.size()) return found;
    behind = 1 + (is_blank ? 0 : kClocks.size()) + place;
  }
  for (std::size_t i = 0; i < kDates.size(); ++i) {
    if (fits(kDates[i], separator, numbers, is_year_first)) {
      add(i * kPerDate + behind);
    }
  }
  return found;
}

TimeFormatsOf time_formats_of(std::int64_t value) {
  constexpr std::int64_t kFirstDay = 19900101;
  constexpr std::int64_t kLastDay = 20991231;
  TimeFormatsOf found;
  if (value < kFirstDay) return found;
  if (value <= kLastDay) {
    const auto digits = static_cast<int>(value);
    if (is_day(digits / 10000, digits / 100 % 100, digits % 100)) {
      found = {{static_cast<std::uint8_t>(kDateDigits)}, 1};
    }
    return found;
  }
  std::int64_t unit = 1;
  for (std::size_t i = 0; i < kUnix.size(); ++i, unit *= 1000) {
    if (value >= kFirstSecond * unit && value < kLastSecond * unit) {
      return {{static_cast<std::uint8_t>(kDateDigits + 1 + i)}, 1};
    }
  }
  return found;
}

std::string time_text(std::string_view format, std::int64_t seconds) {
  std::int64_t unit = 1;
  for (const std::string_view each : kUnix) {
    if (format == each) return fmt::format("{}", seconds * unit);
    unit *= 1000;
  }
  using namespace std::chrono;
  const sys_seconds moment{std::chrono::seconds(seconds)};
  const auto midnight = floor<days>(moment);
  const year_month_day date(midnight);
  const hh_mm_ss clock(moment - midnight);
  std::string text;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      text += format[i];
      continue;
    }
    switch (format[++i]) {
      case 'Y':
        text += fmt::format("{:04}", static_cast<int>(date.year()));
        break;
      case 'm':
        text += fmt::format("{:02}", static_cast<unsigned>(date.month()));
        break;
      case 'd':
        text += fmt::format("{:02}", static_cast<unsigned>(date.day()));
        break;
      case 'H':
        text += fmt::format("{:02}", clock.hours().count());
        break;
      case 'M':
        text += fmt::format("{:02}", clock.minutes().count());
        break;
      case 'S':
        text += fmt::format("{:02}", clock.seconds().count());
        break;
      default:
        text += 'Z';  // %z
    }
  }
  return text;
}

}  // namespace weft::validation
