// The options that a model or an optimizer declares: names, kinds, defaults.
// What a recipe gives is checked against them, so that a mistyped option is
// an error and never a silent default.
//
// Threads: value types and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/options.h"

namespace weft {

struct OptionSpec {
  std::string name;
  OptionValue value;  // the default; it also fixes the kind
  std::string summary;
};

std::string to_string(const OptionValue& value);
// "integer", "number", "true or false", "text", "list of integers".
std::string_view kind_of(const OptionValue& value);

// `given` with the defaults filled in. An integer is taken where a number is
// due. Throws Error(kInvalidArgument) naming `where` and the nearest known
// name for an unknown option, or both kinds for a value of the wrong one.
Options complete(const std::vector<OptionSpec>& schema, const Options& given,
                 std::string_view where);

// An option that the schema guarantees.
template <class T>
const T& option(const Options& options, std::string_view name) {
  const auto found = options.find(std::string(name));
  WEFT_CHECK(found != options.end(), "no option '{}'", name);
  const T* value = std::get_if<T>(&found->second);
  WEFT_CHECK(value != nullptr, "option '{}' has another kind", name);
  return *value;
}

}  // namespace weft
