// What changed between two rules, a line for each key, for people.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "weft/validation/schema.h"
#include "weft/validation/toml_text.h"

namespace weft::validation {

// "feature.age.min = 17 → 16", or all keys behind "+" where nothing was before.
std::string diff_text(const std::optional<FeatureRule>& before,
                      const FeatureRule& after);
// "feature.race.values += "Other"": what a list has that it had not, and the
// reverse.
std::string list_diff_text(const std::string& key,
                           const std::vector<std::string>& before,
                           const std::vector<std::string>& after);

}  // namespace weft::validation
