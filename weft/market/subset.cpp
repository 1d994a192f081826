#include "weft/market/subset.h"

#include <algorithm>
#include <charconv>

#include "weft/base/error.h"

namespace weft::market {
namespace {

Error bad_subset(std::string_view part, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "subset", "'{}' {}", part, what)
      .hint("numbers and ranges, as in 20,40,100-199; nothing for all");
}

// Nothing that is no number passes.
std::int64_t example_number(std::string_view text, std::string_view part) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || text.front() == '-') {
    throw bad_subset(part, "is neither an example nor a range of them");
  }
  return number;
}

ExampleRange parse_range(std::string_view part, std::int64_t size) {
  if (part.empty()) throw bad_subset(part, "names no example");
  const auto dash = part.find('-', 1);
  ExampleRange range;
  range.first = example_number(part.substr(0, dash), part);
  range.last = range.first;
  if (dash != std::string_view::npos) {
    const std::string_view last = part.substr(dash + 1);
    if (last.empty()) throw bad_subset(part, "has no end");
    range.last = example_number(last, part);
  }
  if (range.last < range.first) {
    throw bad_subset(part, "ends before it begins");
  }
  if (range.last >= size) {
    throw bad_subset(part, fmt::format("lies outside of {} examples", size));
  }
  return range;
}

}  // namespace

std::vector<ExampleRange> parse_subset(std::string_view text,
                                       std::int64_t size) {
  if (text.empty()) {
    return size == 0 ? std::vector<ExampleRange>{}
                     : std::vector<ExampleRange>{{0, size - 1}};
  }
  std::vector<ExampleRange> named;
  while (true) {
    const auto comma = text.find(',');
    named.push_back(parse_range(text.substr(0, comma), size));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(named.begin(), named.end(),
            [](const ExampleRange& a, const ExampleRange& b) {
              return a.first < b.first;
            });
  std::vector<ExampleRange> ranges;
  for (const ExampleRange& range : named) {
    if (!ranges.empty() && range.first <= ranges.back().last + 1) {
      ranges.back().last = std::max(ranges.back().last, range.last);
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

std::vector<std::int64_t> examples_by_shard(
    const std::vector<ExampleRange>& ranges,
    std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> counts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    std::int64_t count = 0;
    for (const ExampleRange& range : ranges) {
      const std::int64_t first = std::max(range.first, begin);
      const std::int64_t last = std::min(range.last, begin + size - 1);
      if (first <= last) count += last - first + 1;
    }
    counts.push_back(count);
    begin += size;
  }
  return counts;
}

}  // namespace weft::market
