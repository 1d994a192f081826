#include "weft/train/simulate/failures.h"

#include <charconv>
#include <cmath>

#include "weft/base/error.h"
#include "weft/base/quantity.h"

namespace weft {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Error wrong(std::string_view part, std::string why) {
  return Error(ErrorCode::kInvalidArgument, "simulate.failures", "'{}' {}",
               part, why)
      .hint("which rank, and when: 3@10s, 5@20s");
}

}  // namespace

std::map<int, double> parse_failures(std::string_view text, int ranks) {
  std::map<int, double> failures;
  text = trimmed(text);
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    text = comma == text.npos ? std::string_view()
                              : trimmed(text.substr(comma + 1));
    const auto at = part.find('@');
    int rank = 0;
    const auto number =
        std::from_chars(part.data(), part.data() + part.size(), rank);
    if (at == part.npos || number.ec != std::errc() ||
        number.ptr != part.data() + at) {
      throw wrong(part, "names no rank and moment");
    }
    const auto seconds = parse_quantity(part.substr(at + 1), kTimeUnits);
    if (!seconds || !std::isfinite(*seconds) || *seconds < 0) {
      throw wrong(part, "has no moment behind its @");
    }
    if (rank < 0 || rank >= ranks) {
      throw wrong(part, fmt::format("is none of the ranks 0 to {}", ranks - 1));
    }
    if (!failures.emplace(rank, *seconds).second) {
      throw wrong(part, "names a rank that is lost already");
    }
  }
  return failures;
}

}  // namespace weft
