// Values as TOML writes them.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/validation/summary.h"

namespace weft::validation {

// In quotes, with what must be escaped. Throws Error(kInvalidArgument) for what
// is no UTF-8, which TOML cannot hold.
std::string toml_string(std::string_view text);
// As it stands if it is a bare key, else in quotes.
std::string toml_key(std::string_view name);
// The shortest digits that read back as the same number.
std::string toml_number(Bound number);
// On lines of its own where it is long.
std::string toml_list(const std::vector<std::string>& items);
std::string toml_strings(const std::vector<std::string>& texts);

}  // namespace weft::validation
