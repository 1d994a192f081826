#include "weft/base/name_patterns.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/wildcard.h"

namespace weft {
namespace {

// What may have been meant: a name, or all that begin or end as one does.
std::vector<std::string> patterns_of(const std::vector<std::string>& names) {
  std::vector<std::string> patterns = names;
  for (const std::string& name : names) {
    const std::size_t first = name.find('.');
    const std::size_t last = name.rfind('.');
    if (first == std::string::npos) continue;
    patterns.push_back(name.substr(0, first) + ".*");
    patterns.push_back("*" + name.substr(last));
  }
  return patterns;
}

// "fc1.weight, fc1.bias and 12 more".
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() <= kMostListed) return text;
  return fmt::format("{} and {} more", text, names.size() - kMostListed);
}

void check_fits_any(const std::string& pattern,
                    const std::vector<std::string>& names,
                    std::string_view kind, const std::string& where) {
  const bool fits = std::ranges::any_of(names, [&](const std::string& name) {
    return matches_wildcard(pattern, name);
  });
  if (fits) return;
  // A pattern is nearer to another pattern than to any name it should fit.
  const std::string near = nearest(pattern, patterns_of(names));
  Error error(ErrorCode::kInvalidArgument, where, "no {} is called '{}'{}",
              kind, pattern,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
  // Where none is near, some say at least how they are called.
  if (near.empty()) error.detail(fmt::format("{}s: {}", kind, some_of(names)));
  throw error.hint(fmt::format("weft inspect RECIPE lists the {}s", kind));
}

}  // namespace

void check_patterns(const std::vector<std::string>& patterns,
                    const std::vector<std::string>& names,
                    std::string_view kind, std::string_view where) {
  const auto where_of = [&](std::size_t i) {
    return fmt::format("{}.{}", where, i);
  };
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    check_fits_any(patterns[i], names, kind, where_of(i));
  }
  // Each name may have one pattern: of two, the order in a file would decide,
  // which nobody would see.
  for (const std::string& name : names) {
    const std::string* first = nullptr;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!matches_wildcard(patterns[i], name)) continue;
      if (first != nullptr) {
        throw Error(ErrorCode::kInvalidArgument, where_of(i),
                    "'{}' and '{}' are both for {} '{}'", *first, patterns[i],
                    kind, name);
      }
      first = &patterns[i];
    }
  }
}

}  // namespace weft
