#include "weft/base/error.h"

#include <algorithm>
#include <numeric>

namespace weft {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kDataLoss:
      return "damaged data";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kExhausted:
      return "exhausted";
    case ErrorCode::kNumeric:
      return "not a number";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string where, std::string message)
    : code_(code), where_(std::move(where)), message_(std::move(message)) {
  compose();
}

Error::Error(ErrorCode code, std::string_view where, fmt::string_view format,
             fmt::format_args args)
    : Error(code, std::string(where), fmt::vformat(format, args)) {}

Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

Error& Error::detail(std::string_view line) & {
  details_.emplace_back(line);
  compose();
  return *this;
}

Error& Error::hint(std::string_view text) & {
  hint_ = text;
  compose();
  return *this;
}

void Error::compose() {
  // what() must return a text that exists already, as it cannot throw.
  text_ = where_.empty() ? message_ : where_ + ": " + message_;
  for (const auto& line : details_) text_ += "\n  " + line;
  if (!hint_.empty()) text_ += "\n  hint: " + hint_;
}

namespace {

// How many letters are wrong, too many, missing, or two in each other's place
// (Damerau, "A technique for computer detection and correction of spelling
// errors", 1964).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Each entry of the table needs its left, upper and diagonal neighbour, and
  // the one two rows and columns before.
  std::vector<std::size_t> before, above, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::move(above);
    above = std::move(row);
    row.assign(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1,
                         above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word,
                    const std::vector<std::string>& known) {
  std::string best;
  // A third of the letters may be wrong, or two of a short word; what is
  // further away is another word, and a guess would mislead.
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

namespace detail {

void check_failed(const char* condition, const char* file, int line,
                  fmt::string_view format, fmt::format_args args) {
  Error error(ErrorCode::kInternal, fmt::format("{}:{}", file, line),
              fmt::format("broken invariant: {}", condition));
  if (format.size() > 0) error.detail(fmt::vformat(format, args));
  throw error.hint("this is a defect of weft; please report it");
}

}  // namespace detail
}  // namespace weft
