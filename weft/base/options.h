// Named values that one part reads and another checks: the options of a
// model, written in a recipe.
//
// Threads: value types.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace weft {

using OptionValue =
    std::variant<bool, std::int64_t, double, std::string,
                 std::vector<std::int64_t>, std::vector<std::string>>;
using Options = std::map<std::string, OptionValue>;

}  // namespace weft
