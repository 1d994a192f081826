#include "weft/base/name_patterns.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/wildcard.h"

namespace weft {
namespace {

void check_fits_any(const std::string& pattern,
                    const std::vector<std::string>& names,
                    std::string_view kind, std::string_view where) {
  const bool fits = std::ranges::any_of(names, [&](const std::string& name) {
    return matches_wildcard(pattern, name);
  });
  if (fits) return;
  const std::string near = nearest(pattern, names);
  throw Error(ErrorCode::kInvalidArgument, where, "no {} is called '{}'{}",
              kind, pattern,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
      .hint(fmt::format("weft inspect RECIPE lists the {}s", kind));
}

}  // namespace

void check_patterns(const std::vector<std::string>& patterns,
                    const std::vector<std::string>& names,
                    std::string_view kind, std::string_view where) {
  for (const std::string& pattern : patterns) {
    check_fits_any(pattern, names, kind, where);
  }
  for (const std::string& name : names) {
    const std::string* first = nullptr;
    for (const std::string& pattern : patterns) {
      if (!matches_wildcard(pattern, name)) continue;
      if (first != nullptr) {
        throw Error(ErrorCode::kInvalidArgument, where,
                    "'{}' and '{}' are both for {} '{}'", *first, pattern, kind,
                    name);
      }
      first = &pattern;
    }
  }
}

}  // namespace weft
